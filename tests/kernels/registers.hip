#include "prelude.h"

// KEEP values are alive at once, so that the compiler takes about as many registers.
__global__ WORKGROUP(256) void registers(const float* in, float* out, int n) {
  float kept[KEEP];
#pragma unroll
  for (int i = 0; i < KEEP; ++i) kept[i] = in[i * n + thread()];
  asm volatile("" ::: "memory");
#pragma unroll
  for (int i = 0; i < KEEP; ++i) out[i * n + thread()] = kept[i] * kept[KEEP - 1 - i];
}
