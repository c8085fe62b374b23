"""A question about a small kernel."""

from __future__ import annotations

from rocm_perf.optimize.candidate import Candidate
from rocm_perf.optimize.proposers.question import Question

KERNEL = """__global__ void twice(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    x[i] *= 2;
  }
}"""
SOURCE = f"#include <vector>\n\n{KERNEL}\n\nint main() {{ return 0; }}\n"
DIFF = """--- a/twice.cu
+++ b/twice.cu
@@ -3,4 +3,4 @@
 __global__ void twice(float* x, int n) {
   for (int i = threadIdx.x; i < n; i += blockDim.x) {
-    x[i] *= 2;
+    x[i] += x[i];
   }
"""


def question(source: str = SOURCE, kernel: str = KERNEL, attempts: tuple = ()) -> Question:  # type: ignore[type-arg]
    start = source.encode().index(kernel.encode())
    return Question(
        file="twice.cu",
        source=source.encode(),
        kernel="twice",
        span=(start, start + len(kernel.encode())),
        arch="sm_90",
        compiler="nvcc 13.0",
        cause="memory",
        because="it reaches 80 % of the bandwidth",
        attempts=attempts,
    )


def changed(candidate: Candidate, source: str = SOURCE) -> str:
    return candidate.applied_to(source.encode()).decode()
