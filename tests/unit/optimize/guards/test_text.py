"""The gate `text`: what stands outside of the kernel stays, and nothing comes in that reaches beyond it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.optimize.guards.text import text_passage

SOURCE = """#include <cstdio>
__device__ float table[4];
__device__ float own(float x) { return 2 * x; }
__device__ float shared_by_two(float x) { return 3 * x; }
__global__ void k(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[i] = own(x[i]) + shared_by_two(x[i]);
  }
}
__global__ void other(float* y) { y[0] = shared_by_two(table[0]); }
int main() { k<<<1, 64>>>(x, y, n); return 0; }
"""
LINE = "    y[i] = own(x[i]) + shared_by_two(x[i]);\n"


def passage(old: str, new: str) -> tuple[bool, str]:
    """How a change of the source fares."""
    assert old in SOURCE
    result = text_passage(SOURCE.encode(), SOURCE.replace(old, new, 1).encode(), "k")
    assert result.gate == "text"
    return result.passed, result.words


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LINE, "    const float v = x[i];\n    y[i] = own(v) + shared_by_two(v);\n"),
        ("  for (int i", "#pragma unroll 4\n  for (int i"),
        ("void k(", "void __launch_bounds__(64) k("),
        ("const float* x, float* y", "const float* __restrict__ x, float* __restrict__ y"),
        (LINE, "    auto f = [&](float v) { return own(v); };\n    y[i] = f(x[i]);\n"),
        (LINE, "    y[i] = fmaf(2.0f, x[i], __ldg(&x[i]));\n"),
        (LINE, "    static constexpr int two = 2;\n    y[i] = two * x[i];\n"),
        ("return 2 * x;", "return x + x;"),
    ],
)
def test_changes_of_the_kernel_and_of_what_it_alone_calls_pass(old: str, new: str) -> None:
    passed, words = passage(old, new)
    assert passed, words
    assert "nothing else does" in words


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("k<<<1, 64>>>", "k<<<1, 32>>>", "outside of the kernel differs, from line 11"),
        ("return 3 * x;", "return x;", "outside of the kernel differs, from line 4"),
        (
            "#include <cstdio>\n",
            "#include <cstdio>\n#define n 4\n",
            "outside of the kernel differs, from line 2",
        ),
        ("return 0;", "return 1;", "outside of the kernel"),
        (LINE, "  }\n}\n__global__ void more(float* y) {\n  {\n" + LINE, "outside of the kernel"),
        (LINE, LINE + "  }\n}\nint planted() {\n  {\n", "outside of the kernel"),
        (LINE, "/*" + LINE, "cannot be read"),
        (LINE, LINE[:-2] + "\n", "cannot be read"),
        ("int n)", "long n)", "another signature"),
        ("void k(", "void l(", "does not define a kernel k"),
        ("void k(", "__attribute__((noinline)) void k(", "a new attribute: noinline"),
        ("void k(", "HIDDEN(3) void k(", "macros among the attributes"),
        (LINE, "#define n 4\n" + LINE, "a new directive"),
        (LINE, "#if 0\n" + LINE + "#endif\n", "a new directive"),
        (LINE, "#pragma omp parallel\n" + LINE, "a new directive"),
        (LINE, "#pragma unroll 4 _Pragma(1)\n" + LINE, "a new directive"),
        (LINE, LINE.replace("own", "\\\n own"), "backslash"),
        (LINE, LINE + '    asm volatile("s_nop 0");\n', "inline assembly in line 8"),
        (LINE, "    static int calls;\n" + LINE, "outlives a launch"),
        (LINE, "    static __device__ float kept[64];\n" + LINE, "outlives a launch"),
        (LINE, "    extern __shared__ float more[];\n" + LINE, "outlives a launch"),
        (LINE, LINE + '    printf("%d", n);\n', "it calls printf in line 8"),
        (LINE, LINE + "    if (clock64() > 5) return;\n", "it calls clock64"),
        (LINE, LINE + "    elsewhere(y);\n", "it calls elsewhere"),
        (LINE, LINE + "    k<<<1, 64>>>(x, y, n);\n", "it calls k"),
        (LINE, LINE + "    float* p = new float[4];\n", "memory is allocated"),
        (LINE, LINE + "    y[i] += table[0];\n", "it uses table in line 8"),
    ],
)
def test_everything_else_is_refused(old: str, new: str, reason: str) -> None:
    passed, words = passage(old, new)
    assert not passed
    assert reason in words


def test_what_was_there_before_may_stay() -> None:
    old = SOURCE.replace(LINE, f'    printf("%d", n);\n    asm volatile("nop");\n{LINE}').encode()
    assert text_passage(old, old.replace(b"2 * x", b"x * 2"), "k").passed


def test_code_under_a_directive_may_change_and_the_directive_may_not() -> None:
    old = SOURCE.replace(LINE, f"#if A\n{LINE}#else\n    y[i] = 0;\n#endif\n").encode()
    assert text_passage(old, old.replace(b"own(x[i]) +", b"own(x[i]) + 0 +"), "k").passed
    assert "a new directive" in text_passage(old, old.replace(b"#if A", b"#if B"), "k").words
    assert "is gone" in text_passage(old, old.replace(b"#else\n", b""), "k").words


@given(st.integers(0, len(SOURCE) - 1), st.sampled_from([";", "{", "}", " 0 ", "//", "/*", '"', "\n#", "x"]))
def test_text_put_in_anywhere_never_reaches_beyond_the_kernel(position: int, put_in: str) -> None:
    """Whatever passes leaves every byte outside of the two functions as it was."""
    changed = SOURCE[:position] + put_in + SOURCE[position:]
    if text_passage(SOURCE.encode(), changed.encode(), "k").passed:
        own = SOURCE.index("__device__ float own"), SOURCE.index("__device__ float shared_by_two")
        kernel = SOURCE.index("__global__ void k"), SOURCE.index("__global__ void other")
        assert any(start <= position < end for start, end in (own, kernel))
