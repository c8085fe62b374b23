"""Kernels, their parameters and attributes are read from the tree; what is not understood is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.errors import InputError, UsageError
from rocm_perf.optimize.source.parse import parse

NAMESPACES = b"""
namespace a { namespace {
template <typename T, int N = 4>
__global__ void __launch_bounds__(256, 2) scale(const T* __restrict__ x, float *y, unsigned const n) { y[n] = x[n]; }
}}
namespace b::c { __global__ void offset(float x[], float** rows) {} }
"""


def test_a_kernel_is_read_with_its_template_attributes_namespaces_and_spans() -> None:
    source = parse(NAMESPACES)
    kernel = source.kernel("scale")
    assert (kernel.qualified, kernel.namespaces) == ("a::scale", ("a", ""))
    assert kernel.template is not None
    assert [(each.name, each.kind, each.default) for each in kernel.template] == [
        ("T", "typename", None),
        ("N", "int", "4"),
    ]
    bounds = kernel.attribute("__launch_bounds__")
    assert bounds is not None
    assert bounds.arguments == ("256", "2")
    assert source.text[kernel.span.start : kernel.span.end].startswith(b"template <typename T")
    assert source.text[kernel.body.start : kernel.body.end] == b"{ y[n] = x[n]; }"
    assert source.text[kernel.attributes_at :].startswith(b"scale(")
    assert source.kernel("b::c::offset").namespaces == ("b", "c")


def test_parameters_have_element_depth_and_qualifiers() -> None:
    x, y, n = parse(NAMESPACES).kernel("scale").parameters
    assert (x.type, x.element, x.depth, x.const, x.restrict) == ("const T* __restrict__", "T", 1, True, True)
    assert (y.type, y.element_bytes, y.const, y.restrict) == ("float *", 4, False, False)
    assert (n.element, n.depth, n.const) == ("unsigned", 0, True)
    array, rows = parse(NAMESPACES).kernel("offset").parameters
    assert (array.depth, rows.depth) == (1, 2)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (b'extern "C" __global__ void k(int n) {}', True),
        (b'extern "C" { __global__ void k(int n) {} }', False),
    ],
)
def test_extern_c_alone_or_around_several(text: bytes, whole: bool) -> None:
    kernel = parse(text).kernel("k")
    assert kernel.extern_c
    assert text[kernel.span.start : kernel.span.end].startswith(b"extern") is whole


@pytest.mark.parametrize(
    "head",
    [
        b"__global__ WORKGROUP(256) void k",
        b"__global__ void WORKGROUP(256) k",
        b"WORKGROUP(256) __global__ void k",
        b"__global__ LAUNCH void k",
        b"template <int N> WORKGROUP(N, 2) __global__ void k",
    ],
)
def test_a_macro_among_the_attributes_does_not_hide_a_kernel(head: bytes) -> None:
    text = head + b"(float* RESTRICT x, int n) { x[0] = n; }"
    kernel = parse(text).kernel("k")
    assert len(kernel.macros) == 1
    assert kernel.macros[0].encode() in text
    assert [(each.name, each.opaque) for each in kernel.parameters] == [("x", True), ("n", False)]
    assert kernel.span.start == 0


def test_kernels_by_macros_and_in_broken_text_are_left_alone_with_a_reason() -> None:
    source = parse(
        b"#define MAKE(name) __global__ void name(float* x) { x[0] = 1; }\nMAKE(made)\n"
        b"__global__ void good(float* x) { x[0] = 1; }\n"
        b"__global__ void bad(float* x) { x[0] = ; }\n"
    )
    assert [each.name for each in source.kernels] == ["good"]
    assert [(each.name, each.line) for each in source.unreadable] == [("bad", 4), ("MAKE", 1)]
    with pytest.raises(
        UsageError, match=r"bad in line 4 .* left alone: its text is not understood \(line 4\)"
    ):
        source.kernel("bad")


def test_declarations_are_not_kernels() -> None:
    assert [each.name for each in parse(b"__global__ void k(int);\n__global__ void k(int n) {}").kernels] == [
        "k"
    ]


def test_text_without_one_readable_kernel_is_refused_with_the_line() -> None:
    with pytest.raises(
        InputError, match=r"defines no kernel that can be read: k is left alone because .*line 3"
    ):
        parse(b"\n__global__ void k(float* x) {\n  x[0] = = 1;\n")


def test_a_file_that_is_absent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*No such file"):
        parse(tmp_path / "none.cu")


@pytest.mark.parametrize(
    "name", ["a::scale", "_ZN1a5scaleIfLi4EEEvPKT_Pfj", "void a::scale<float, 4>(float const*)"]
)
def test_names_as_profilers_write_them(name: str) -> None:
    assert parse(NAMESPACES).kernel(name).qualified == "a::scale"


def test_a_name_that_is_absent_has_the_nearest_ones() -> None:
    with pytest.raises(UsageError, match=r"does not define a kernel scael. The nearest names: a::scale"):
        parse(NAMESPACES).kernel("scael")


def test_a_name_that_is_defined_twice_is_not_guessed() -> None:
    text = b"#if A\n__global__ void k(int n) {}\n#else\n__global__ void k(float n) {}\n#endif\n"
    with pytest.raises(UsageError, match="k in line 2, k in line 4"):
        parse(text).kernel("k")


def test_device_functions_of_the_file_are_followed() -> None:
    kernel = parse(
        b"__device__ float inner(float x) { return x; }\n__device__ float outer(float x) { return inner(x); }\n"
        b"__device__ float unused(float x) { return x; }\n__global__ void k(float* x) { x[0] = outer(x[1]); }\n"
    ).kernel("k")
    assert [each.name for each in kernel.calls] == ["outer", "inner"]
