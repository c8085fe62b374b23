#include "prelude.h"

// A half-precision product that leaves the matrix units alone and waits for each step.
__global__ WORKGROUP(64) void half_fma(const half2* a, const half2* b, half2* c, int n) {
  half2 sum[16];
  for (int i = 0; i < 16; ++i) sum[i] = c[i * 64 + thread()];
  for (int k = 0; k < n; ++k) {
    half2 x = a[64 * k + thread()];
#pragma unroll
    for (int i = 0; i < 16; ++i) sum[i] = __builtin_elementwise_fma(x, b[16 * k + i], sum[i]);
  }
  for (int i = 0; i < 16; ++i) c[i * 64 + thread()] = sum[i];
}
