"""`__restrict__` and `const` are promised only where text and captured dispatches show that they hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.transforms import restrict
from rocm_perf.optimize.transforms.setting import CapturedLaunch, Pointer
from tests.unit.optimize.transforms.trying import Tried, captured, setting

COPY = (
    b"__global__ void k(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i]; }\n"
)


def kernel(parameters: str, body: str, around: str = "") -> bytes:
    return f"{around}\n__global__ void k({parameters}) {{ {body} }}\n".encode()


def test_pointers_to_buffers_of_their_own_are_restricted() -> None:
    tried = Tried(restrict.TRANSFORM, COPY)
    assert "(const float* __restrict__ x, float* __restrict__ y, int n)" in tried.text("__restrict__ on x, y")


def test_pointers_into_one_buffer_are_refused() -> None:
    both = {name: Pointer(4096 + offset, allocation=4096) for name, offset in (("x", 0), ("y", 2048))}
    tried = Tried(restrict.TRANSFORM, COPY, setting(CapturedLaunch(block=(64, 1, 1), pointers=both)))
    assert not tried.candidates
    assert tried.refused["__restrict__ on x"] == "x and y point into one buffer in a captured dispatch"


def test_one_dispatch_of_many_is_enough_to_refuse() -> None:
    apart = captured(parse(COPY).kernels[0])
    same = replace(apart, pointers={"x": Pointer(4096, 4096), "y": Pointer(4096, 4096)})
    assert not Tried(restrict.TRANSFORM, COPY, setting(apart, same)).candidates


def test_two_pointers_that_are_only_read_may_meet() -> None:
    text = kernel("const float* a, const float* b, float* c", "c[0] = a[0] + b[0];")
    pointers = {"a": Pointer(64, 64), "b": Pointer(64, 64), "c": Pointer(4096, 4096)}
    tried = Tried(restrict.TRANSFORM, text, setting(CapturedLaunch(block=(64, 1, 1), pointers=pointers)))
    assert list(tried.candidates) == ["__restrict__ on a, b, c"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel("float* x, float* y", "y[0] = x[0]; x = y;"), "made to point elsewhere"),
        (kernel("float* x, float* y", "y[0] = x[0]; unknown(x);"), "not known (unknown()"),
        (kernel("float* x, float* y", "atomicAdd(&x[0], y[0]);"), "by atomics"),
        (
            kernel("float* x, float* y", "x[0] = 1; __syncthreads(); y[0] = x[1];"),
            "written and read in a kernel with",
        ),
        (kernel("float* X x, float* y", "y[0] = x[0];"), "a macro in its declaration"),
        (kernel("volatile float* x, float* y", "y[0] = x[0];"), "volatile"),
        (kernel("float x[], float* y", "y[0] = x[0];"), "not declared as a plain pointer"),
        (
            kernel("float* x, float* y", "y[0] = x[0];", "int main() { k<<<1, 64>>>(p, p + n); }"),
            "pointers of one origin",
        ),
        (kernel("float** x, float* y", "y[0] = x[0][0];"), "x may hold pointers of its own"),
        (
            kernel("float* x, float* z, Parameters y", "x[0] = y.p[0] + z[0];"),
            "y may hold pointers of its own",
        ),
        (
            kernel("float* x, float* y", "y[0] = x[0] + table[0];", "__device__ float* table;"),
            "the kernel reads table",
        ),
        (
            kernel("float* x, float* y, F f", "y[0] = f(x[0]);", "template <typename F>"),
            "f may hold pointers of its own",
        ),
        (
            kernel("T* x, float* y", "y[0] = x[0].p[0];", "template <typename T>"),
            "x may hold pointers of its own",
        ),
    ],
)
def test_what_is_not_provable_is_refused(text: bytes, reason: str) -> None:
    tried = Tried(restrict.TRANSFORM, text)
    assert any(reason in each for each in tried.refused.values()), tried.refused
    assert all(" x" not in name for name in tried.candidates)


def test_without_a_captured_dispatch_nothing_is_provable() -> None:
    tried = Tried(restrict.TRANSFORM, COPY, setting())
    assert tried.refused == {"__restrict__": "no captured dispatch shows which buffers the pointers name"}


def test_what_is_written_in_a_called_function_counts_as_written() -> None:
    text = kernel(
        "float* x, float* y",
        "put(x, y[0]); __syncthreads(); y[1] = x[1];",
        "__device__ void put(float* p, float v) { *p = v; }",
    )
    assert "written and read" in Tried(restrict.TRANSFORM, text).refused["__restrict__ on x"]


def test_const_keeps_the_symbol_only_under_extern_c() -> None:
    plain = kernel("float* x, float* __restrict__ y", "y[0] = x[0];")
    assert "symbol" in Tried(restrict.TRANSFORM, plain).refused["const on x"]
    tried = Tried(restrict.TRANSFORM, b'extern "C" ' + plain.strip())
    assert "(const float* x" in tried.text("const on x")


@pytest.mark.parametrize("body", ["float* p = x; y[0] = p[0];", "y[0] = get(x);"])
def test_const_is_refused_where_the_text_would_no_longer_compile(body: str) -> None:
    around = '__device__ float get(float* p) { return p[0]; }\nextern "C"'
    tried = Tried(restrict.TRANSFORM, kernel("float* x, float* __restrict__ y", body, around))
    assert "const on x" in tried.refused
