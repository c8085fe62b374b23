"""Element types, by the names that frameworks and compilers use: torch's own name of each, and its size in bytes."""

from __future__ import annotations

# torch's scalar types (c10/core/ScalarType.h), as its collectives and some tools record them.
SCALAR_TYPES: dict[str, tuple[str, int]] = {
    "Byte": ("uint8", 1),
    "Char": ("int8", 1),
    "Bool": ("bool", 1),
    "Float8_e4m3fn": ("float8_e4m3fn", 1),
    "Float8_e4m3fnuz": ("float8_e4m3fnuz", 1),
    "Float8_e5m2": ("float8_e5m2", 1),
    "Float8_e5m2fnuz": ("float8_e5m2fnuz", 1),
    "Float8_e8m0fnu": ("float8_e8m0fnu", 1),
    "Float4_e2m1fn_x2": ("float4_e2m1fn_x2", 1),  # two values in a byte
    "Half": ("float16", 2),
    "BFloat16": ("bfloat16", 2),
    "Short": ("int16", 2),
    "UInt16": ("uint16", 2),
    "Int": ("int32", 4),
    "UInt32": ("uint32", 4),
    "Float": ("float32", 4),
    "Long": ("int64", 8),
    "UInt64": ("uint64", 8),
    "Double": ("float64", 8),
    "ComplexFloat": ("complex64", 8),
    "ComplexDouble": ("complex128", 16),
}
ELEMENT_BYTES = {name: size for name, (_, size) in SCALAR_TYPES.items()}

# The profiler names the same by their C++ types.
_PLAIN_CPP_TYPES: dict[str, tuple[str, int]] = {
    "float": ("float32", 4),
    "double": ("float64", 8),
    "c10::complex<float>": ("complex64", 8),
    "c10::complex<double>": ("complex128", 16),
    "long int": ("int64", 8),
    "long": ("int64", 8),
    "long long": ("int64", 8),
    "int": ("int32", 4),
    "short int": ("int16", 2),
    "short": ("int16", 2),
    "signed char": ("int8", 1),
    "unsigned char": ("uint8", 1),
    "unsigned short": ("uint16", 2),
    "unsigned int": ("uint32", 4),
    "unsigned long": ("uint64", 8),
    "bool": ("bool", 1),
}
_OWN_CLASSES = ("Half", "BFloat16", *(name for name in SCALAR_TYPES if name.startswith(("Float8", "Float4"))))
TORCH_TYPES: dict[str, tuple[str, int]] = {
    **SCALAR_TYPES,
    **_PLAIN_CPP_TYPES,
    **{f"c10::{name}": SCALAR_TYPES[name] for name in _OWN_CLASSES},
}

# What old releases of torch call a plain number (IValue::tagKind): without sizes it cannot be told from a tensor.
NUMBERS = frozenset(("Int", "Double", "Bool"))
