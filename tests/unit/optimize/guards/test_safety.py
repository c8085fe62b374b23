"""The gate `safety`: threads meet as before, and no wave size is assumed anew."""

from __future__ import annotations

import pytest

from rocm_perf.optimize.guards.safety import safety_passage

SOURCE = """
__device__ void reduce(float* part) { part[threadIdx.x % 8] += part[threadIdx.x + 8]; __syncthreads(); }
__global__ void k(float* x, unsigned* counts, int n) {
  __shared__ float part[64];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int s = 8; s > 0; s /= 2) {
    reduce(part);
    x[s] += __shfl_down(x[s], s);
  }
  if (n > 4) atomicAdd(&counts[0], 1u);
}
"""


def passage(old: str, new: str) -> tuple[bool, str]:
    assert old in SOURCE
    result = safety_passage(SOURCE.encode(), SOURCE.replace(old, new, 1).encode(), "k")
    assert result.gate == "safety"
    return result.passed, result.words


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x[s] += ", "x[s] = x[s] + "),
        ("  for (int s", "#pragma unroll\n  for (int s"),
        ("float part[64]", "float part[128]"),
        ("part[threadIdx.x] = x", "{ part[threadIdx.x] = 32 * x[0]; }\n  part[threadIdx.x] = x"),
    ],
)
def test_other_changes_pass(old: str, new: str) -> None:
    assert passage(old, new) == (True, "barriers, atomics and exchanges as before (4)")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("  __syncthreads();\n  for", "  for", "is missing"),
        ("+ 8]; __syncthreads();", "+ 8];", "is missing"),
        ("  __syncthreads();\n  for", "  if (n) __syncthreads();\n  for", "under other loops or conditions"),
        ("  if (n > 4) atomicAdd", "  __syncthreads();\n  if (n > 4) atomicAdd", "__syncthreads in line 11 is new"),
        ("if (n > 4) atomicAdd(&counts[0], 1u);", "if (n > 4) counts[0] += 1u;", "atomicAdd of line 11 is missing"),
        ("atomicAdd(&counts[0], 1u);", "atomicOr(&counts[0], 1u);", "atomicOr in line 11 stands where atomicAdd"),
        ("  if (n > 4) atomicAdd", "  while (n > 4) atomicAdd", "under other loops or conditions"),
        ("  __syncthreads();\n  for", "  __syncwarp();\n  for", "__syncwarp in line 6 stands where"),
        ("1u);\n}", "1u);\n  __threadfence();\n}", "__threadfence in line 12 is new"),
        ("__shfl_down(x[s], s)", "__shfl_down(x[s], s, 32)", "32 in line 9 assumes the size of a wave"),
        ("int s = 8;", "int s = 32;", "32 in line 7 assumes the size of a wave"),
        ("if (n > 4)", "if (threadIdx.x % 64 == 0)", "64 in line 11 assumes the size of a wave"),
        ("if (n > 4)", "if ((threadIdx.x & 31) == 0)", "31 in line 11 assumes the size of a wave"),
    ],
)  # fmt: skip
def test_dangers_are_refused(old: str, new: str, reason: str) -> None:
    passed, words = passage(old, new)
    assert not passed, words
    assert reason in words


def test_numbers_of_a_wave_are_free_where_threads_do_not_meet() -> None:
    old = b"__global__ void k(float* x) { x[threadIdx.x] *= 2; }"
    assert safety_passage(old, old.replace(b"2;", b"32;"), "k").passed
    assert not safety_passage(old, old.replace(b"x[threadIdx.x] *", b"x[threadIdx.x / 32] *"), "k").passed
