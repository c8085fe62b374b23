"""What a kernel does with the memory behind a name."""

from __future__ import annotations

import pytest

from rocm_perf.optimize.source.accesses import accesses_of, based_on
from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.source.tree import text_of

AROUND = """
__device__ void put(float* y, float v) { y[0] = v; }
__device__ float get(const float* y) { return *y; }
__device__ void grow(float& r) { r += 1; }
__device__ float value(float v) { return v; }
"""


def uses(body: str) -> list[str]:
    kernel = parse(f"{AROUND}__global__ void k(float* x, float* y, int n) {{ {body} }}".encode()).kernels[0]
    accesses = accesses_of("x", kernel.node, kernel.calls).all
    return sorted({each.use for each in accesses} - {"derive"})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[0] = x[0];", ["read"]),
        ("y[0] = *(x + n) + x[n].w;", ["read"]),
        ("y[0] = __ldg(&x[n]) + __ldg(x + 1);", ["read"]),
        ("y[0] = fmaxf(x[0], 1.0f) + value(x[1]) + get(x + 2);", ["read"]),
        ("x[0] = 1;", ["write"]),
        ("x[0] += 1;", ["read", "write"]),
        ("++x[n];", ["read", "write"]),
        ("*x = 1; (*x).w = 2;", ["write"]),
        ("float* p = x + n; p[1] = 3;", ["write"]),
        ("float* p; p = n ? x : y; p[1] = 3;", ["write"]),
        ("auto p = &x[n]; *p = 3;", ["write"]),
        ("reinterpret_cast<float4*>(x)[0] = v;", ["write"]),
        ("float& r = x[0]; r = 2;", ["escape"]),
        ("const float& r = x[0]; y[0] = r;", ["read"]),
        ("put(x, 1); ", ["write"]),
        ("grow(x[0]);", ["write"]),
        ("atomicAdd(&x[n], 1.0f); atomicAdd(x, 1.0f);", ["atomic"]),
        ("elsewhere(x);", ["escape"]),
        ("elsewhere(&x[1]);", ["escape"]),
        ("elsewhere(x[1]);", ["escape"]),
        ("x = y;", ["reassign"]),
        ("x += n; y[0] = x[0];", ["read"]),
        ("float** p = &x; *p = y;", ["escape"]),
        ("float* p(x); p[0] = 1;", ["write"]),
        ("float* p{x}; p[0] = 1;", ["escape"]),
        ("x->clear();", ["escape"]),
        ('asm("nop" : "+f"(x[0]));', ["escape"]),
        ("S s; s.p = x;", ["escape"]),
        ("swap(x[0], x[1]);", ["escape"]),
        ("auto f = [=] { x[0] = 1; };", ["write"]),
        ("if (x < y) y[0] = 1;", []),
    ],
)
def test_uses(body: str, expected: list[str]) -> None:
    assert uses(body) == expected


def test_an_atomic_touches_an_element() -> None:
    kernel = parse(b"__global__ void k(int* x, int n) { atomicAdd(&x[n], 1); }").kernels[0]
    (access,) = accesses_of("x", kernel.node, ()).all
    assert (access.use, text_of(access.element)) == ("atomic", "x[n]")


def test_local_pointers_are_followed() -> None:
    kernel = parse(
        b"__global__ void k(float* x) { float* p = x + 1; float* q = p; float v = x[0]; }"
    ).kernels[0]
    assert based_on("x", kernel.node) == {"x", "p", "q"}
