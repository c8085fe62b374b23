#include "prelude.h"

__global__ WORKGROUP(256) void vector_add(const float* a, const float* b, float* sum, int n) {
  unsigned i = group() * 256 + thread();
  if (i < n) sum[i] = a[i] + b[i];
}
