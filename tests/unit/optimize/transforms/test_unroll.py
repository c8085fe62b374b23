"""Loops are unrolled where that is proven to be harmless, and refused with the reason where it is not."""

from __future__ import annotations

import pytest

from rocm_perf.optimize.transforms import unroll, unroll_by_hand
from tests.unit.optimize.transforms.trying import Tried


def kernel(loop: str, before: str = "") -> bytes:
    return (
        f"__device__ float twice(float x) {{ return 2 * x; }}\n"
        f"__global__ void k(float* x, unsigned* counts, int n) {{\n  float sum = 0;\n  {before}\n  {loop}\n"
        f"  x[0] = sum;\n}}\n"
    ).encode()


def test_a_pragma_stands_on_a_line_before_the_loop() -> None:
    tried = Tried(unroll.TRANSFORM, kernel("for (int i = 0; i < n; ++i) sum += twice(x[i]);"))
    assert list(tried.candidates) == [f"unroll by {factor}: loop in line 5" for factor in (4, 2, 8)]
    assert "\n#pragma unroll 4\n  for (int i = 0;" in tried.text("unroll by 4: loop in line 5")


def test_a_loop_behind_other_text_of_its_line_gets_lines_of_its_own() -> None:
    tried = Tried(
        unroll.TRANSFORM, b"__global__ void k(float* x, int n) { for (int i = 0; i < n; ++i) x[i] = 1; }"
    )
    assert "{ \n#pragma unroll 2\nfor (int i" in tried.text("unroll by 2: loop in line 1")


def test_several_loops_are_tried_together_first() -> None:
    loops = "for (int i = 0; i < n; ++i) sum += x[i];\n  for (int i = 0; i < n; ++i) sum *= x[i];"
    tried = Tried(unroll.TRANSFORM, kernel(loops))
    together = "unroll by 4: loops in lines 5, 6"
    assert next(iter(tried.candidates)) == together
    assert tried.text(together).count("#pragma unroll 4") == 2


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ("for (int s = blockDim.x / 2; s > 0; s /= 2) { x[s] += sum; __syncthreads(); }", "__syncthreads in line 5"),
        ("for (int s = 16; s > 0; s /= 2) sum += __shfl_down(sum, s);", "a multiple of 4"),
        ("for (int i = 0; i < n; ++i) { __threadfence(); x[i] = 1; }", "__threadfence in line 5"),
        ("for (int i = 0; i < n; ++i) atomicAdd(&x[0], 1.0f);", "atomic whose order may matter"),
        ("for (int i = 0; i < n; ++i) counts[i] = atomicAdd(&counts[0], 1u);", "atomic whose order may matter"),
        ("for (int i = 0; i < n; ++i) atomicExch(&counts[0], 1u);", "atomic whose order may matter"),
        ("for (int i = 0; i < n; ++i) { if (x[i] < 0) break; sum += x[i]; }", "may end early (break in line 5)"),
        ("for (int i = 0; i < n; ++i) { if (x[i] < 0) return; sum += x[i]; }", "may end early (return in line 5)"),
        ("for (int i = 0; i < n; ++i) sum += elsewhere(x[i]);", "elsewhere in line 5, which is not in this file"),
        ("for (int i = 0; i < n; ++i) { asm volatile(\"nop\"); sum += x[i]; }", "inline assembly"),
        ("for (int i = 0; i < n; ++i) { sum += x[i]; i += counts[i]; }", "does not count with one variable"),
        ("while (n--) sum += x[n];", "does not count with one variable"),
        ("#pragma unroll 3\n  for (int i = 0; i < n; ++i) sum += x[i];", "#pragma unroll 3 is there already"),
        ("if (n) for (int i = 0; i < n; ++i) sum += x[i];", "block of its own statements"),
        ("for (int i = 0; i < n; ++i) {\n    while (sum < x[i]) sum += x[n];\n  }", "a loop in it (line 6)"),
    ],
)  # fmt: skip
def test_dangers_are_refused(loop: str, reason: str) -> None:
    tried = Tried(unroll.TRANSFORM, kernel(loop))
    assert not any("unroll by 4" in name for name in tried.candidates)
    assert any(reason in each for each in tried.refused.values()), tried.refused


def test_a_barrier_is_safe_where_all_threads_run_a_multiple_of_the_factor() -> None:
    tried = Tried(
        unroll.TRANSFORM, kernel("for (int s = 1; s < 256; s *= 2) { x[s] += sum; __syncthreads(); }")
    )
    assert list(tried.candidates) == [
        "unroll by 4: loop in line 5",
        "unroll by 2: loop in line 5",
        "unroll all 8 iterations: loop in line 5",
    ]


def test_a_parameter_hides_a_constant_of_the_host() -> None:
    text = (
        kernel("for (int i = 0; i < n; ++i) { x[i] += sum; __syncthreads(); }")
        + b"int main() { const int n = 64; }"
    )
    assert not Tried(unroll.TRANSFORM, text).candidates


def test_atomics_on_integers_whose_result_is_unused_commute() -> None:
    loop = "for (int i = 0; i < n; ++i) atomicAdd(&counts[i % 7], 1u);"
    assert "unroll by 4: loop in line 5" in Tried(unroll.TRANSFORM, kernel(loop)).candidates


@pytest.mark.parametrize(("index", "is_safe"), [("i", True), ("i + 1", False), ("n - i", False)])
def test_dynamic_shared_memory_needs_elements_of_its_own(index: str, is_safe: bool) -> None:
    loop = f"for (int i = threadIdx.x; i < n; i += blockDim.x) part[{index}] = x[i];"
    tried = Tried(
        unroll.TRANSFORM, kernel(loop, "extern __shared__ float staged[]; float* part = staged + 4;")
    )
    assert bool(tried.candidates) is is_safe
    assert is_safe or "dynamic shared memory" in tried.refused["unroll: loop in line 5"]


def test_short_loops_are_unrolled_as_a_whole() -> None:
    tried = Tried(unroll.TRANSFORM, kernel("for (int s = 16; s > 0; s >>= 1) sum += __shfl_down(sum, s);"))
    assert list(tried.candidates) == ["unroll all 5 iterations: loop in line 5"]


def test_by_hand_keeps_the_body_and_its_counter() -> None:
    tried = Tried(unroll_by_hand.TRANSFORM, kernel("for (int i = 0; i < n; i += 2) { sum += x[i]; }"))
    text = tried.text("unroll by 4 in the text: loop in line 5")
    assert text.count("sum += x[i];") == 5
    assert "const int i = i_first + 3 * 2;" in text


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; ++i) { if (x[i] < 0) continue; sum += x[i]; }",
        "for (int i = n; i > 0; --i) sum += x[i];",
        "for (int i = 0; i < counts[0]; ++i) sum += x[i];",
        "for (int i = 0; i < n; ++i) { sum += x[i]; n -= 1; }",
        "for (short i = 0; i < n; ++i) sum += x[i];",
        "for (int i = 0; i < n; ++i) {\n#ifdef A\n sum += x[i];\n#endif\n }",
        "for (int i = 0; i < n; ++i) atomicAdd(&counts[0], 1u);",
    ],
)
def test_by_hand_refuses_what_it_cannot_write_anew(loop: str) -> None:
    assert not Tried(unroll_by_hand.TRANSFORM, kernel(loop)).candidates
