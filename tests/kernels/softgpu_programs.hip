#include "prelude.h"

// Kernels of the programs that run on the software GPU. Each works on as many elements as it has lanes.
__device__ inline unsigned item() { return group() * 256 + thread(); }

extern "C" __global__ WORKGROUP(256) void saxpy(float a, const float* x, float* y, unsigned n) {
  if (item() < n) y[item()] = __builtin_fmaf(a, x[item()], y[item()]);
}

// Through pointers that lie in memory: right only where all of it is back at its own addresses.
extern "C" __global__ WORKGROUP(256) void gather(const unsigned* const* table, unsigned* out, unsigned n) {
  if (item() < n) out[item()] = *table[item()] + item();
}

extern "C" __global__ WORKGROUP(256) void add(unsigned* x, unsigned value, unsigned n) {
  if (item() < n) x[item()] += value;
}

__device__ unsigned bias = 7;
__device__ unsigned calls;

extern "C" __global__ WORKGROUP(256) void biased(unsigned* x, unsigned n) {
  if (item() < n) x[item()] += bias;
  if (item() == 0) ++calls;
}

// The sum of each workgroup, through LDS.
extern "C" __global__ WORKGROUP(256) void sums(const unsigned* x, unsigned* out, unsigned n) {
  __shared__ unsigned partial[256];
  partial[thread()] = item() < n ? x[item()] : 0;
  barrier();
  for (unsigned half = 128; half; half /= 2) {
    if (thread() < half) partial[thread()] += partial[thread() + half];
    barrier();
  }
  if (thread() == 0) out[group()] = partial[0];
}

extern "C" __global__ WORKGROUP(256) void outside(unsigned* x) { x[item()] = 1; }

extern "C" __global__ WORKGROUP(256) void endless(volatile unsigned* x) {
  while (x[0] != 0xffffffff) {
  }
}
