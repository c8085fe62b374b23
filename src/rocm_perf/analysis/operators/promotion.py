"""The type of what an elementwise operator computes, as torch promotes types (c10/core/ScalarType.h, result_type).

Tensors with dimensions decide. A tensor without dimensions, which is also how the profiler writes a Python number,
counts only where its category is a higher one: a bool becomes an integer, an integer a floating-point number.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocm_perf.model.dtypes import TORCH_TYPES
from rocm_perf.model.torch_call import Argument

_BYTES = dict(TORCH_TYPES.values())
_DEFAULT_FLOAT = "float32"  # of a Python number (torch.get_default_dtype, unless it was set)
_BOOL, _INTEGER, _FLOATING, _COMPLEX = range(4)


def promoted(tensors: Iterable[Argument]) -> str | None:
    """torch's name of the common type; None where no tensor has a known one."""
    known = [tensor for tensor in tensors if tensor.dtype]
    sized = _common(tensor.dtype for tensor in known if tensor.shape and tensor.dtype)
    bare = _common(tensor.dtype for tensor in known if not tensor.shape and tensor.dtype)
    if sized is None or bare is None:
        return sized or bare
    if _category(bare) <= _category(sized):
        return sized
    return _DEFAULT_FLOAT if _category(bare) == _FLOATING else bare


def floating(dtype: str) -> str:
    """The type of a quotient, root or exponential: integers become floating-point numbers."""
    return dtype if _category(dtype) >= _FLOATING else _DEFAULT_FLOAT


def type_bytes(dtype: str) -> int:
    """The size of one element in bytes."""
    return _BYTES[dtype]


def _common(dtypes: Iterable[str]) -> str | None:
    """The type that holds all of these: of the highest category, the widest; half and bfloat16 meet in float32."""
    distinct = set(dtypes)
    if not distinct:
        return None
    highest = max(map(_category, distinct))
    candidates = sorted(dtype for dtype in distinct if _category(dtype) == highest)
    widest = max(candidates, key=type_bytes)
    alike = [dtype for dtype in candidates if type_bytes(dtype) == type_bytes(widest)]
    return _DEFAULT_FLOAT if highest == _FLOATING and len(alike) > 1 else widest


def _category(dtype: str) -> int:
    if dtype == "bool":
        return _BOOL
    if dtype.startswith("complex"):
        return _COMPLEX
    return _FLOATING if "float" in dtype else _INTEGER
