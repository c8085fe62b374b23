"""What a kernel's own symbol says of its arguments."""

from __future__ import annotations

import pytest

from rocm_perf.optimize.proof.parameters import pointed, signature


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("softmax(float*, int)", ("float*", "int")),
        ("void tile<float, 32>(float const*, __half*)", ("float const*", "__half*")),
        ("apply(Pair<int, float>*, void (*)(int, int))", ("Pair<int, float>*", "void (*)(int, int)")),
        ("(anonymous namespace)::none()", ()),
        ("plain_c_name", ()),
    ],
)
def test_types_of_a_demangled_name(name: str, types: tuple[str, ...]) -> None:
    assert signature(name) == types


@pytest.mark.parametrize(
    ("type_name", "element"),
    [
        ("float const*", "f32"),
        ("const float * __restrict__", "f32"),
        ("__nv_bfloat16*", "bf16"),
        ("unsigned int const*", "i32"),
        ("float**", None),
        ("Node*", None),
        ("int", None),
        ("void*", None),
    ],
)
def test_elements_behind_a_pointer(type_name: str, element: str | None) -> None:
    assert pointed(type_name) == element
