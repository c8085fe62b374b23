"""What one AMD instruction does, judging by its name: gfx9 to gfx12 (AMD's ISA guides, LLVM's mnemonics)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

Class = Literal[
    "VALU", "matrix", "SALU", "SMEM", "VMEM load", "VMEM store", "VMEM atomic", "scratch", "LDS", "wait", "barrier",
    "branch", "message", "other",
]  # fmt: skip
CLASSES: tuple[Class, ...] = (
    "VALU", "matrix", "SALU", "SMEM", "VMEM load", "VMEM store", "VMEM atomic", "scratch", "LDS", "wait", "barrier",
    "branch", "message", "other",
)  # fmt: skip

_MATRIX = re.compile(r"v_(s?mfma|smfmac|s?wmma|swmmac)_(?!ld_scale)")
_SCALAR: tuple[tuple[str, Class], ...] = (
    (r"s_wait", "wait"),
    (r"s_barrier", "barrier"),
    (r"s_(c?branch|setpc|swappc|call|rfe|subvector_loop)", "branch"),
    (r"s_sendmsg", "message"),
    (r"s_(buffer_|scratch_)?(load|store|atomic|prefetch)|s_(dcache|gl1_inv|icache|mem(real)?time|atc_probe)", "SMEM"),
    (r"s_(nop|clause|delay_alu|endpgm|code_end|sleep|sethalt|setprio|inst_prefetch|ttrace|trap|version|round_mode|denorm)",
     "other"),
)  # fmt: skip
_VECTOR_MEMORY = re.compile(r"(global|buffer|tbuffer|flat|image)_")
_STORE, _ATOMIC = re.compile(r"_store"), re.compile(r"_atomic|_cmpswap")
_CACHE_CONTROL = re.compile(r"(global|buffer)_(wb|inv|gl[01]_inv)|buffer_(wbl2|wbinvl1)")
_TRANSCENDENTAL = re.compile(r"v_(s_)?(exp|log|rcp|rsq|sqrt|sin|cos|tanh)(_|$)")

_SHAPE = re.compile(r"_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?(.*)$")
# The K of one 32x32 block by input type, for chips whose mnemonics do not state the number of blocks (gfx908, gfx90a).
_K_OF_32X32 = {"f32": 2, "f16": 8, "i8": 8, "bf16": 4, "bf16_1k": 8}

_WIDTHS = (
    ("dwordx4", 16), ("dwordx3", 12), ("dwordx2", 8), ("dword", 4),
    ("b128", 16), ("b96", 12), ("b64", 8), ("b32", 4), ("b16", 2), ("b8", 1),
    ("short", 2), ("byte", 1), ("u16", 2), ("i16", 2), ("u8", 1), ("i8", 1), ("x2", 8),
    ("f64", 8), ("u64", 8), ("i64", 8), ("f32", 4), ("u32", 4), ("i32", 4), ("f16", 4),
)  # fmt: skip
_FMA = re.compile(r"v_(?:pk_|dual_)?(?:fma|fmac|mad|mac|fmaak|fmamk|dot2c?)(?:_mix\w*)?_(f64|f32|f16|bf16)")


class Meaning(msgspec.Struct, frozen=True):
    """What a mnemonic does."""

    kind: Class
    bytes_per_lane: int | None = None  # moved by a memory instruction
    matrix_flops: int | None = None  # of a matrix instruction, over all lanes; multiply and add count as two
    matrix_type: str | None = None  # its input type
    fma_type: str | None = None  # of a multiply-add outside the matrix units
    transcendental: bool = False
    to_lds: bool = False  # a load that bypasses the registers


@lru_cache(maxsize=8192)
def meaning(mnemonic: str) -> Meaning:
    """What the instruction does: `v_mfma_f32_32x32x8_f16` -> matrix, 16,384 FLOPs."""
    name = re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp)$", "", mnemonic)
    kind = class_of(name)
    if kind == "matrix":
        flops, matrix_type = matrix_work(name)
        return Meaning(kind, matrix_flops=flops, matrix_type=matrix_type)
    if kind in ("VMEM load", "VMEM store", "VMEM atomic", "scratch", "LDS"):
        return Meaning(kind, bytes_per_lane=_bytes_per_lane(name), to_lds="_lds" in name)
    if kind == "VALU":
        fma = _FMA.match(name)
        return Meaning(kind, fma_type=_fma_type(name, fma), transcendental=bool(_TRANSCENDENTAL.match(name)))
    return Meaning(kind)


def class_of(name: str) -> Class:
    """The class of an instruction by its name without an encoding suffix."""
    if name.startswith("v_"):
        return "matrix" if _MATRIX.match(name) else "VALU"
    if name.startswith("s_"):
        return next((kind for pattern, kind in _SCALAR if re.match(pattern, name)), "SALU")
    if name.startswith("ds_"):
        return "LDS"
    if name.startswith("scratch_"):
        return "scratch"
    if _CACHE_CONTROL.match(name):
        return "other"
    if _VECTOR_MEMORY.match(name):
        return "VMEM atomic" if _ATOMIC.search(name) else "VMEM store" if _STORE.search(name) else "VMEM load"
    return "other"


def matrix_work(name: str) -> tuple[int | None, str | None]:
    """The FLOPs of a matrix instruction (2 M N K, times the blocks) and its input type."""
    shape = _SHAPE.search(name)
    if shape is None:
        return None, None
    m, n, k = (int(size) for size in shape.groups()[:3])
    inputs = shape.group(5)
    blocks = int(shape.group(4)) if shape.group(4) else _unstated_blocks(name, m, k, inputs)
    return 2 * m * n * k * blocks, inputs.removesuffix("_1k").split("_")[0]


def _unstated_blocks(name: str, m: int, k: int, inputs: str) -> int:
    """Blocks of a name without `_2b_`, which follow from K (AMD, CDNA 1 and 2 ISA guides: table of MFMA)."""
    if not name.startswith("v_mfma"):
        return 1
    if m == 4:
        return 4 if inputs == "f64" else 16
    of_one = _K_OF_32X32.get(inputs)
    if of_one is None:
        return 1
    if m == 32:
        return 2 if k < of_one else 1
    return 4 if k < 2 * of_one else 1


def _fma_type(name: str, fma: re.Match[str] | None) -> str | None:
    if fma is None:
        return None
    # Mixed precision and two-element dot products take half-precision inputs.
    return "f16" if "_mix" in name or name.endswith("_f16") else fma.group(1)


def _bytes_per_lane(name: str) -> int | None:
    if name.startswith(("ds_bpermute", "ds_permute", "ds_swizzle")):
        return 4
    widths = [(name.rfind(suffix), width) for suffix, width in _WIDTHS if suffix in name]
    if not widths:
        return None
    width = max(widths)[1]
    pair = name.startswith("ds_") and re.search(r"(read2|write2|2addr)", name)
    return 2 * width if pair else width
