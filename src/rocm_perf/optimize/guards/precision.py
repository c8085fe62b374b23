"""The gate `precision`, by the source: no narrower types, no approximate functions and no options that allow them,
unless that is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.changed_kernel import ChangedKernel, KernelText, changed_kernel
from rocm_perf.optimize.source.kernels import plain_name
from rocm_perf.optimize.source.tree import text_of

# Floating-point and integer types by their bits of precision; wider ones come with built-in vectors.
_BITS = {
    "double": 53,
    "float": 24,
    **dict.fromkeys(("half", "__half", "_Float16", "half2", "__half2"), 11),
    **dict.fromkeys(
        ("__nv_bfloat16", "__hip_bfloat16", "hip_bfloat16", "bfloat16", "__nv_bfloat162", "__bf16"), 8
    ),
    **dict.fromkeys(("__nv_fp8_e4m3", "__nv_fp8_e5m2", "__hip_fp8_e4m3", "__hip_fp8_e5m2"), 4),
    **dict.fromkeys(
        ("short", "int16_t", "uint16_t", "unsigned short", "char", "int8_t", "uint8_t", "unsigned char"), 7
    ),
}
_WIDE = 24  # less is never used in place of float without being asked for
# CUDA C++ Programming Guide, "Intrinsic Functions" (errors in units of the last place); LLVM's builtins for AMDGPU.
_APPROXIMATE = frozenset(
    (
        *(
            f"__{name}f"
            for name in (
                "exp",
                "exp10",
                "log",
                "log2",
                "log10",
                "sin",
                "cos",
                "tan",
                "pow",
                "sincos",
                "divide",
            )
        ),
        *("__fdividef", "fdividef", "rsqrtf", "rsqrt", "__frsqrt_rn", "__saturatef", "__tanhf", "rcbrtf"),
        *("hexp", "hlog", "hsqrt", "hrsqrt", "hrcp", "h2exp", "__hdiv", "__hfma", "__hmul", "__hadd"),
        *(
            "__builtin_amdgcn_rcpf",
            "__builtin_amdgcn_rsqf",
            "__builtin_amdgcn_sqrtf",
            "__builtin_amdgcn_exp2f",
        ),
        *(
            "__builtin_amdgcn_logf",
            "__builtin_amdgcn_sinf",
            "__builtin_amdgcn_cosf",
            "__builtin_amdgcn_fdot2",
        ),
        *("__float2half", "__float2half_rn", "__float22half2_rn", "__float2bfloat16", "__double2float_rn"),
    )
)
_PREFIXES = ("native_", "__ocml_native_", "__nv_fast_", "__builtin_amdgcn_mfma", "__builtin_amdgcn_wmma")
_FLAGS = (
    "-ffast-math",
    "-Ofast",
    "-use_fast_math",
    "--use_fast_math",
    "-ftz=true",
    "--ftz=true",
    "-prec-div=false",
    "--prec-div=false",
    "-prec-sqrt=false",
    "--prec-sqrt=false",
    "-funsafe-math-optimizations",
    "-fassociative-math",
    "-freciprocal-math",
    "-fapprox-func",
    "-fno-honor-nans",
    "-fno-honor-infinities",
    "-ffinite-math-only",
    "-fno-signed-zeros",
    "-fgpu-flush-denormals-to-zero",
    "-munsafe-fp-atomics",
    "-fgpu-approx-transcendentals",
    "-fcuda-approx-transcendentals",
)


def precision_passage(
    original: bytes, candidate: bytes, kernel: str, *, flags: tuple[str, ...] = (), allowed: bool = False
) -> Passage:
    """Whether the candidate computes as exactly as the original, by its text and its options."""
    if allowed:
        return Passage("precision", True, "less exact arithmetic is allowed")
    change = changed_kernel(original, candidate, kernel)
    if isinstance(change, str):
        return Passage("precision", False, change)
    reason = _options(flags) or _functions(change) or _types(change) or _literals(change)
    return Passage(
        "precision", reason is None, reason or "no narrower types and no approximate functions by the source"
    )


def _options(flags: tuple[str, ...]) -> str | None:
    inexact = [each for each in flags if each.startswith(_FLAGS)]
    return f"{inexact[0]} allows less exact arithmetic" if inexact else None


def _functions(change: ChangedKernel) -> str | None:
    before = Counter(map(plain_name, change.old.called))
    for name, count in Counter(map(plain_name, change.new.called)).items():
        if (name in _APPROXIMATE or name.startswith(_PREFIXES)) and count > before[name]:
            return f"{name} is less exact than what it replaces"
    return None


def _types(change: ChangedKernel) -> str | None:
    """Narrow types must not be new; `double` must not become `float`."""
    before, after = (Counter(_named(text)) for text in (change.old, change.new))
    for name, count in after.items():
        if _BITS[name] < _WIDE and count > before[name]:
            return f"{name} is narrower than what was there"
    if after["double"] < before["double"]:
        return "double is used in fewer places than before"
    return None


def _named(text: KernelText) -> Iterator[str]:
    for node in text.below("primitive_type", "type_identifier", "sized_type_specifier", "identifier"):
        if text_of(node) in _BITS:
            yield text_of(node)


def _literals(change: ChangedKernel) -> str | None:
    before, after = (
        sum(map(_is_double, map(text_of, text.below("number_literal")))) for text in (change.old, change.new)
    )
    return "literals of double became float" if after < before else None


def _is_double(literal: str) -> bool:
    is_decimal = not literal.lower().startswith("0x") and any(each in literal for each in ".eE")
    return is_decimal and not literal.lower().endswith(("f", "f16"))
