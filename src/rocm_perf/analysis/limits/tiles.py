"""Tiles, split sums, types and units of products, convolutions and attention, as the names of library kernels say them.

Each library has a reader of its own. Numbers of a name count elements, unless a field says otherwise. Sources: the
naming rules of Tensile, CUTLASS, Composable Kernel and MIOpen; of cuBLAS' own kernels nothing is documented, and what
is read of them was checked against recorded grids.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import msgspec

from rocm_perf.analysis.basis.names import LONGEST

Maker = Literal[
    "Tensile", "nvjet", "xmma", "CUTLASS", "cuBLAS", "TensorRT-LLM", "triton_kernels", "CK tile", "CK", "ggml", "MIOpen"
]  # fmt: skip


class Tile(msgspec.Struct, frozen=True, kw_only=True):
    """What one workgroup computes: `m` x `n` elements of the result, `k` terms of the sum in one step.

    `columns_first`: the library thinks in columns, so that its `m` runs along the columns of torch's result; where
    `either` is set, recorded grids are of both kinds.
    """

    maker: Maker
    m: int
    n: int
    k: int | None = None
    columns_first: bool = True
    either: bool = False
    split: int | None = None  # parts of the sum, where the name fixes them
    splits_at_run_time: bool = False
    stream: bool = False  # stream-K: workgroups share tiles evenly
    on_matrix: bool | None = None  # None: the name does not say
    dtype: str | None = None  # as the catalogue of GPUs names it: bf16, f16, f32, f64, f8, f4
    weights: str | None = None  # the type of the weights, where it is another
    alignment: int | None = None  # elements of a row that a load takes at once
    workgroup: int | None = None  # work-items

    @property
    def elements(self) -> int:
        """Return how many elements of the result a workgroup computes."""
        return self.m * self.n

    @property
    def sides(self) -> tuple[int, int]:
        """Return the extent along the rows and along the columns of a result as torch keeps it."""
        return (self.n, self.m) if self.columns_first else (self.m, self.n)

    def count(self, rows: int, columns: int, batch: int = 1) -> int:
        """Return how many tiles cover `batch` results of this size."""
        high, wide = self.sides
        return -(-rows // high) * -(-columns // wide) * batch

    def padded(self, rows: int, columns: int, batch: int = 1) -> float:
        """Return how many times the elements of the results the tiles have."""
        return self.count(rows, columns, batch) * self.elements / (rows * columns * batch)


class AttentionTile(msgspec.Struct, frozen=True):
    """What a workgroup of an attention kernel works on; None where the name does not say."""

    maker: str
    depth: int | None = None  # of a head
    rows: int | None = None  # queries of a workgroup
    keys: int | None = None  # of one step
    pads: bool = False  # heads are padded to a power of two, as Triton's ranges have to be
    paged: bool = False  # keys and values come from a cache


_LARGEST = 1 << 16  # elements of a side: a name that says more is no name of a tile
_TENSILE = re.compile(r"^Cij\w*_MT(\d+)x(\d+)x(\d+)")
_TENSILE_TYPE = re.compile(r"^Cij[kl]*_\w{4,5}_\w{4,5}_(F8|B8|I8|4xi8|[SDHBCZ])")
_TENSILE_SPLIT = re.compile(r"_GSU(\d+)(?=_|$)")
_TENSILE_STREAM = re.compile(r"_SK[1-9]")
_TENSILE_GROUP = re.compile(r"_WG(\d+)_(\d+)_(\d+)")
_TENSILE_TYPES = {
    "S": "f32",
    "D": "f64",
    "H": "f16",
    "B": "bf16",
    "F8": "f8",
    "B8": "f8",
    "I8": "i8",
    "4xi8": "i8",
}
_POST_SPLIT = re.compile(r"PostGSU(\d+)|splitKreduce|split_?k_?reduce|ReduceSplitK", re.IGNORECASE)


def adds_up_parts(kernel: str) -> int | None:
    """Return how many parts of a split sum a kernel adds up, 0 where the name does not count them; None where it does
    something else."""
    found = _POST_SPLIT.search(kernel)
    return int(found[1] or 0) if found else None


def _tensile(kernel: str) -> Tile | None:
    found = _TENSILE.match(kernel)
    if not found:
        return None
    split, kind, group = (
        _TENSILE_SPLIT.search(kernel),
        _TENSILE_TYPE.match(kernel),
        _TENSILE_GROUP.search(kernel),
    )
    has_instruction = re.search(r"_MI\d+x\d+|_MIWT\d+", kernel) is not None
    parts = int(split[1]) if split else 0
    return Tile(
        maker="Tensile",
        m=int(found[1]),
        n=int(found[2]),
        k=int(found[3]),
        split=parts or None,
        splits_at_run_time=not parts and "GSUAMB" in kernel,
        stream=_TENSILE_STREAM.search(kernel) is not None,
        on_matrix=True if has_instruction else False if re.search(r"_TT\d+_\d+", kernel) else None,
        dtype=_TENSILE_TYPES.get(kind[1]) if kind else None,
        workgroup=int(group[1]) * int(group[2]) * int(group[3]) if group else None,
    )


_NVJET = re.compile(r"\bnvjet_(?:sm\d+_)?([a-z]{3,5})_(\d+)x(\d+)_(\d+)x(\d+)_(\d+)x(\d+)(_2cta)?")
_NVJET_TYPES = {"h": "f16", "t": "bf16", "s": "f32", "q": "f8"}


def _nvjet(kernel: str) -> Tile | None:
    found = _NVJET.search(kernel)
    if not found:
        return None
    return Tile(
        maker="nvjet",
        m=int(found[2]),
        n=int(found[3]),
        k=int(found[4]),
        on_matrix=True,
        dtype=_NVJET_TYPES.get(found[1][0]),
    )


_XMMA = re.compile(r"xmma_(\w*?)_tilesize(\d+)x(\d+)x(\d+)")
_XMMA_ALIGNMENT = re.compile(r"align[ac](\d+)")
_XMMA_TYPES = (
    ("bf16", "bf16"),
    ("e4m3", "f8"),
    ("f16", "f16"),
    ("tf32", "xf32"),
    ("f64", "f64"),
    ("f32", "f32"),
)


def _xmma(kernel: str) -> Tile | None:
    found = _XMMA.search(kernel)
    if not found:
        return None
    aligned = _XMMA_ALIGNMENT.search(kernel)
    return Tile(
        maker="xmma",
        m=int(found[2]),
        n=int(found[3]),
        k=int(found[4]),
        either=True,
        on_matrix="_ffma_" not in kernel,
        dtype=next((short for word, short in _XMMA_TYPES if word in found[1]), None),
        alignment=int(aligned[1]) if aligned else None,
    )


_CUTLASS = re.compile(
    r"cutlass_(?:\d+_)?(?:wmma_)?(tensorop|simt)_(\w*?)gemm\w*?_(\d+)x(\d+)(?:_(\d+)x(\d+))?_[nt]{2}_align(\d+)"
)
_CUTLASS_TYPES = (
    ("bf16", "bf16"),
    ("fp16", "f16"),
    ("f16", "f16"),
    ("tf32", "xf32"),
    ("h", "f16"),
    ("d", "f64"),
    ("s", "f32"),
)


def _cutlass(kernel: str) -> Tile | None:
    found = _CUTLASS.search(kernel)
    if not found:
        return None
    return Tile(
        maker="CUTLASS",
        m=int(found[3]),
        n=int(found[4]),
        k=int(found[5]) if found[5] else None,
        on_matrix=found[1] == "tensorop",
        dtype=next((short for word, short in _CUTLASS_TYPES if word in found[2]), None),
        alignment=int(found[7]),
    )


_OLD_CUBLAS = re.compile(
    r"(?<![a-z])(?:volta|turing|ampere|maxwell|pascal|kepler|hopper)_(\w*?)(gemm|scudnn)_(?:\w+_)??(\d+)x(\d+)(?:_sliced(\d)x(\d))?"
)
_INSTRUCTION = re.compile(r"(?<!\d)(884|1688|8816|16816|16832|161616)(?!\d)")


def _old_cublas(kernel: str) -> Tile | None:
    found = _OLD_CUBLAS.search(kernel)
    if not found or found[2] == "scudnn":
        return None
    kind = found[1]
    dtype = next((short for word, short in _CUTLASS_TYPES if word in kind), None)
    return Tile(
        maker="cuBLAS",
        m=int(found[3]),
        n=int(found[4]),
        on_matrix=_INSTRUCTION.search(kind) is not None,
        dtype=dtype,
    )


_TRTLLM = re.compile(r"\b(?:bmm|gemm)_(\w+?)_t(\d+)x(\d+)x(\d+)(?:u\d+)?_s(\d+)")


def _trtllm(kernel: str) -> Tile | None:
    found = _TRTLLM.search(kernel)
    if not found:
        return None
    first = found[1].split("_", maxsplit=1)[0]
    return Tile(
        maker="TensorRT-LLM",
        m=int(found[2]),
        n=int(found[3]),
        k=int(found[4]),
        on_matrix=True,
        dtype="f8"
        if "E4m3" in first
        else "f4"
        if "E2m1" in first
        else "bf16"
        if "Bfloat16" in first
        else None,
        weights="f4" if "MxE2m1" in found[1] or "E2m1" in found[1] else None,
    )


_MATMUL_OGS = re.compile(r"_matmul_ogs_[NT]{3}_(\w+?)x(\w+?)x(\w+?)_(\d+)x(\d+)x(\d+)x(\d+)")
_OGS_TYPES = {"bf16": "bf16", "fp16": "f16", "fp32": "f32", "mxfp4": "f4", "fp8e4nv": "f8"}


def _matmul_ogs(kernel: str) -> Tile | None:
    found = _MATMUL_OGS.search(kernel)
    if not found:
        return None
    return Tile(
        maker="triton_kernels",
        m=int(found[4]),
        n=int(found[5]),
        k=int(found[6]),
        columns_first=False,
        split=int(found[7]),
        on_matrix=True,
        dtype=_OGS_TYPES.get(found[2]) or _OGS_TYPES.get(found[1]),
        weights=_OGS_TYPES.get(found[3]),
    )


_CK_TILE = re.compile(
    r"TileGemmShape<ck_tile::sequence<(\d+), ?(\d+), ?(\d+)>|TileGemmShapeINS_8sequenceIJLi(\d+)ELi(\d+)ELi(\d+)E"
)
_CK = re.compile(r"ELi(64|128|256|512)ELi(\d+)ELi(\d+)ELi(\d+)ELi\d+ELi\d+ELi(?:16|32)ELi(?:16|32)E")
_CK_OPEN = re.compile(r"\b(64|128|256|512), (\d+), (\d+), (\d+), \d+, \d+, (?:16|32), (?:16|32)\b")


def _ck(kernel: str) -> Tile | None:
    found = _CK_TILE.search(kernel)
    if found:
        m, n, k = (int(number) for number in found.groups() if number)
        return Tile(maker="CK tile", m=m, n=n, k=k, columns_first=False, on_matrix=True)
    found = _CK.search(kernel) or (_CK_OPEN.search(kernel) if "ck::" in kernel else None)
    if not found or "ck" not in kernel:
        return None
    return Tile(
        maker="CK",
        m=int(found[2]),
        n=int(found[3]),
        k=int(found[4]),
        columns_first=False,
        on_matrix=True,
        workgroup=int(found[1]),
    )


_GGML = re.compile(r"mul_mat_(q|vec_q)<\(ggml_type\)(\d+), (\d+)")


def _ggml(kernel: str) -> Tile | None:
    """A product of quantised weights and a vector has a workgroup for each row of the weights."""
    found = _GGML.search(kernel)
    if not found or found[1] == "q":
        return None
    return Tile(
        maker="ggml", m=1, n=int(found[3]), columns_first=True, on_matrix=False, weights=f"ggml {found[2]}"
    )


_IGEMM = re.compile(
    r"igemm_(fwd|bwd|wrw)(?:_data|_weights?)?_gtc(?:x\d?)?_(?:nhwc|nchw)_(\w+?)_bx\d+(?:_ex\d+)?_bt(\d+)x(\d+)x(\d+)"
)
_IGEMM_TYPES = {"fp32": "f32", "fp16": "f16", "bf16": "bf16", "int8": "i8"}


def _igemm(kernel: str) -> Tile | None:
    found = _IGEMM.search(kernel)
    if not found:
        return None
    return Tile(
        maker="MIOpen",
        m=int(found[3]),
        n=int(found[4]),
        k=int(found[5]),
        columns_first=False,
        splits_at_run_time="_gkgs" in kernel,
        on_matrix="gtcx" in kernel,
        dtype=_IGEMM_TYPES.get(found[2]),
    )


_READERS: tuple[Callable[[str], Tile | None], ...] = (
    _tensile, _nvjet, _xmma, _cutlass, _old_cublas, _trtllm, _matmul_ogs, _ck, _ggml, _igemm,
)  # fmt: skip


@lru_cache(maxsize=65_536)
def tile(kernel: str) -> Tile | None:
    """Return the tile that a kernel's name tells; None where it tells none."""
    text = kernel[:LONGEST]
    told = next((known for reader in _READERS if (known := reader(text)) is not None), None)
    return told if told is not None and 0 < told.m <= _LARGEST and 0 < told.n <= _LARGEST else None


_FLASH = re.compile(r"Flash_(?:fwd|bwd)_kernel_traits<(\d+), (\d+), (\d+), (\d+)")
_CK_FMHA = re.compile(
    r"TileFmhaShape<ck_tile::sequence<(\d+), ?(\d+), ?(\d+), ?(\d+), ?(\d+), ?(\d+)>"
    r"|TileFmhaShapeINS_8sequenceIJLi(\d+)ELi(\d+)ELi(\d+)ELi(\d+)ELi(\d+)ELi(\d+)E"
)
_AOTRITON = re.compile(r"^(?:attn_fwd|bwd_kernel_(?:dk_dv|dq|fuse)|attn_bwd)\w*(?:\.kd)?$")
_TRITON = re.compile(r"^_+(?:attn_fwd|fwd_kernel|attn_bwd|bwd_kernel)\w*")
_TRT_FMHA = re.compile(r"fmhaSm\w*?H(\d+)\w*?Q(\d+)Kv(\d+)")
_AITER = re.compile(r"fmha_(?:fwd|bwd)_hd(\d+)")
_PAGED = re.compile(
    r"paged_attention|unified_attention|PagedKv|mla_decode|decode_attention|mqa_decode|flash_decode|fwd_splitkv"
)
_LL4MI = re.compile(r"paged_attention_ll4mi_QKV\w*<[^<>]*?, (\d+), (\d+), (\d+), (?:true|false)")


@lru_cache(maxsize=65_536)
def attention_tile(kernel: str) -> AttentionTile | None:
    """Return what the name of an attention kernel tells; None where it is not known as one."""
    text = kernel[:LONGEST]
    paged = _PAGED.search(text) is not None
    found = _FLASH.search(text)
    if found:
        return AttentionTile("FlashAttention", int(found[1]), int(found[2]), int(found[3]), paged=paged)
    found = _CK_FMHA.search(text)
    if found:
        rows, keys, _, _, _, depth = (int(number) for number in found.groups() if number)
        return AttentionTile("CK tile", depth, rows, keys, paged=paged)
    if _AOTRITON.match(text):
        return AttentionTile("AOTriton", pads=True)
    found = _TRT_FMHA.search(text)
    if found:
        return AttentionTile("TensorRT-LLM", int(found[1]), int(found[2]), int(found[3]), paged=paged)
    found = _AITER.search(text)
    if found:
        return AttentionTile("aiter", int(found[1]))
    found = _LL4MI.search(text)
    if found:
        return AttentionTile("vLLM", depth=int(found[2]), paged=True)
    if paged:
        return AttentionTile("Triton" if "unified" in text else "", paged=True)
    return AttentionTile("Triton", pads=True) if _TRITON.match(text) else None
