"""How precise the arithmetic of a kernel is, judging by the names of its instructions: AMD's, and PTX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rocm_perf.arch.codeobject.instructions import class_of

_NARROW = ("f16", "bf16", "tf32", "xf32", "fp8", "bf8", "e4m3", "e5m2", "fp6", "bf6", "fp4", "e2m1")
# An approximation on AMD GPUs, and the instruction that an exact result has for each of them: a division is corrected
# at its end, exp and log scale their argument, a root is compared with its neighbours (LLVM, AMDGPULegalizerInfo).
_AMD_CORRECTED = {
    "v_rcp_f32": ("v_div_fixup_f32", "division by an approximate reciprocal"),
    "v_rcp_f64": ("v_div_fixup_f64", "division by an approximate reciprocal of doubles"),
    "v_exp_f32": ("v_rndne_f32", "an approximate exponential"),
    "v_log_f32": ("v_ldexp_f32", "an approximate logarithm"),
    "v_sqrt_f32": ("v_cmp_class_f32", "an approximate square root"),
}
_AMD_APPROXIMATE = {
    "v_rsq_f32": "an approximate reciprocal square root",
    "v_sin_f32": "an approximate sine",
    "v_cos_f32": "an approximate cosine",
    "v_tanh_f32": "an approximate hyperbolic tangent",
}
_PTX_MOVING = (
    "ld",
    "st",
    "mov",
    "ldu",
    "red",
    "atom",
    "cp",
    "prefetch",
    "ldmatrix",
    "stmatrix",
    "shfl",
    "selp",
)
_PTX_FLUSHING = ("add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp")


@dataclass(frozen=True)
class Arithmetic:
    """What a kernel computes with."""

    lowered: frozenset[str]  # narrow or approximate: "f16 arithmetic", "an approximate exponential"
    double: bool


def of_amd(names: Mapping[str, int]) -> Arithmetic:
    """The arithmetic in a count of AMD instructions by name, without their encoding."""
    corrections = _merged(names)
    lowered = {
        words for name, (exact, words) in _AMD_CORRECTED.items() if corrections[name] > corrections[exact]
    }
    lowered |= {words for name, words in _AMD_APPROXIMATE.items() if corrections[name]}
    lowered |= {
        words for name in names if class_of(name) in ("VALU", "matrix") for words in _narrow_amd(name)
    }
    double = any(name.startswith("v_") and name.endswith("_f64") for name in names)
    return Arithmetic(frozenset(lowered), double)


def _merged(names: Mapping[str, int]) -> Counter[str]:
    """The counts, with comparisons of one kind under one name: v_cmp_class and v_cmpx_class."""
    counted: Counter[str] = Counter()
    for name, count in names.items():
        counted[name.replace("v_cmpx_", "v_cmp_").replace("v_dual_", "v_").replace("v_s_", "v_")] += count
    return counted


def _narrow_amd(name: str) -> Iterator[str]:
    parts = name.split("_")
    if parts[1] == "cvt":  # v_cvt_f16_f32, v_cvt_pk_bf16_f32: the result stands first
        result = parts[3] if parts[2] in ("pk", "sr", "scalef32", "pkrtz") and len(parts) > 3 else parts[2]
        if result in _NARROW or parts[2] == "pkrtz":
            yield f"conversion to {result if result in _NARROW else 'f16'}"
        return
    kinds = [part for part in parts[1:] if part in _NARROW]
    if kinds and not parts[1].startswith(("cmp", "cndmask", "mov", "pack")):
        yield f"{kinds[-1]} arithmetic"


def of_ptx(opcodes: Iterable[str]) -> Arithmetic:
    """The arithmetic in PTX opcodes: `fma.rn.f32`, `ex2.approx.ftz.f32`."""
    counted = Counter(opcodes)
    lowered = {words for opcode in counted for words in _lowered_ptx(opcode.split("."))}
    exponentials = sum(count for opcode, count in counted.items() if opcode.startswith("ex2.approx"))
    reductions = sum(count for opcode, count in counted.items() if opcode.startswith("fma.rm"))
    if exponentials > reductions:  # expf of libdevice scales its argument with one such fma
        lowered.add("an approximate exponential")
    double = any(
        opcode.endswith(".f64") and not opcode.startswith((*_PTX_MOVING, "cvt")) for opcode in counted
    )
    return Arithmetic(frozenset(lowered), double)


def _lowered_ptx(parts: list[str]) -> Iterator[str]:
    operation = parts[0]
    if operation in _PTX_MOVING:
        return
    types = [_plain_type(part) for part in parts[1:] if _plain_type(part) in _NARROW]
    if operation == "cvt":
        first = next((part for part in parts[1:] if _is_type(part)), "")
        if _plain_type(first) in _NARROW:
            yield f"conversion to {_plain_type(first)}"
        return
    if types and operation != "setp":
        yield f"{types[-1]} arithmetic"
    if ("approx" in parts or "full" in parts) and operation != "ex2":
        yield f"approximate {operation}"
    if "ftz" in parts and operation in _PTX_FLUSHING:
        yield "denormal numbers as zero"


def _plain_type(part: str) -> str:
    return part.removesuffix("x2").removesuffix("x4")


def _is_type(part: str) -> bool:
    return _plain_type(part) in _NARROW or (part[:1] in "fsub" and part[1:].isdigit())
