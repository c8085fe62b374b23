"""What the name of a kernel says of its numbers: the type of its elements, and whether matrix units multiply them."""

from __future__ import annotations

import re
from functools import lru_cache

from rocm_perf.analysis.basis.names import LONGEST, demangle
from rocm_perf.analysis.time.matrix_units import matrix_by_name

_SIZES = {
    "double": 8,
    "float": 4,
    "int": 4,
    "unsigned int": 4,
    "long": 8,
    "unsigned long": 8,
    "__half": 2,
    "_Float16": 2,
    "c10::Half": 2,
    "c10::BFloat16": 2,
    "__hip_bfloat16": 2,
    "__nv_bfloat16": 2,
}
_TYPE = "|".join(re.escape(name) for name in sorted(_SIZES, key=len, reverse=True))
_POINTER = re.compile(rf"(?<![\w:])(?:const )?({_TYPE})(?: const)?\s*\*")
_PARAMETERS = re.compile(r"\(([^()]*)\)[^()]*$")

# cuBLAS and cuDNN say sgemm and scudnn for products in single precision outside the tensor cores, whose kernels name
# their instruction instead (h884, s1688, tf32); CUTLASS says simt.
_PLAIN_F32 = re.compile(
    r"(?<![a-z])s(?:gemm|cudnn)|simt_s|implicit_convolve_s|_ffma_|gemm_f32f32_f32f32_f32", re.IGNORECASE
)
# rocBLAS and hipBLASLt name the types after the layout: Cijk_Ailk_Bljk_DB_.
_F64 = re.compile(r"(?<![a-z])d(?:gemm|\d+gemm)|_f64f64_|^Cijk_[A-Za-z]+_[A-Za-z]+_DB?_", re.IGNORECASE)


# Types of 8 bits or fewer: OCP's e4m3, e5m2, e2m1 and so on; the letters that Tensile (F8, I8), nvjet (q: 8 bits, o: 4)
# and cuBLAS (imma) put in names; weights and activations as aiter, vLLM and GPTQ count their bits (a8w8, w4a16).
# The template argument Fp8KVCacheDataType is there whatever the type of the cache is.
_NARROW = re.compile(
    r"e[2345]m[0123](?!\d)|fp[468](?!\d|KVCacheDataType)|(?<![a-z0-9])b?f8(?!\d)|(?<![a-z0-9])(?:int8|i8)(?!_t|\d)|imma"
    r"|nvjet_(?:sm\d+_)?(?:qq|qr|rq|oo)|(?<![a-z0-9])(?:a\d+w[48]|w[48]a\d+)(?!\d)|(?<!\w)mul_mat_(?:vec_)?q|marlin|awq|gptq",
    re.IGNORECASE,
)


@lru_cache(maxsize=65_536)
def element_type(kernel: str) -> str | None:
    """The widest floating-point type that a kernel's parameters point to: what its arrays are made of.

    Integer arrays beside them hold indices; alone, they are the data.
    """
    parameters = _PARAMETERS.search(demangle(kernel)[:LONGEST])
    types: set[str] = set(_POINTER.findall(parameters.group(1))) if parameters else set()
    if not types:
        return None
    data = {name for name in types if not name.endswith(("int", "long"))} or types
    return max(data, key=lambda name: (_SIZES[name], name))


def element_bytes(type_name: str) -> int:
    """The size of one element."""
    return _SIZES[type_name]


def is_f64_product(kernel: str) -> bool:
    """Whether the name says: a product in double precision."""
    return bool(_F64.search(kernel))


def is_plain_f32_product(kernel: str) -> bool:
    """Whether the name says: a product in single precision that leaves the matrix units idle."""
    return bool(_PLAIN_F32.search(kernel)) and not matrix_by_name(kernel)


@lru_cache(maxsize=65_536)
def is_narrow(kernel: str) -> bool:
    """Whether the name says that its numbers have 8 bits or fewer."""
    return bool(_NARROW.search(demangle(kernel)[:LONGEST]))
