#include "prelude.h"

// One defect each, planted so that arithmetic says how large it is (waves of 64 or 32 lanes, 32 banks, lines of 128 B).

// Each lane reads an element 128 B behind the last one's: a line for each lane.
extern "C" __global__ WORKGROUP(64) void strided_load(const float* x, float* y) {
  unsigned i = group() * 64 + thread();
  y[i] = x[32 * i] + 1.0f;
}

// Columns of a 32 x 32 tile: all lanes of half a wave meet one bank.
extern "C" __global__ WORKGROUP(64) void bank_conflict(const float* x, float* y) {
  __shared__ float tile[64 * 32];
  unsigned t = thread(), i = group() * 64 + t;
  tile[t * 32] = x[i];
  barrier();
  y[i] = tile[(t ^ 1) * 32];
}

// The same with rows padded to 33 elements: no conflict.
extern "C" __global__ WORKGROUP(64) void no_bank_conflict(const float* x, float* y) {
  __shared__ float tile[64 * 33];
  unsigned t = thread(), i = group() * 64 + t;
  tile[t * 33] = x[i];
  barrier();
  y[i] = tile[(t ^ 1) * 33];
}

// A quarter of the lanes loops 256 times.
extern "C" __global__ WORKGROUP(64) void divergent(float* x, float a, int n) {
  unsigned i = group() * 64 + thread();
  float v = x[i];
  if (thread() % 4 == 0)
    for (int k = 0; k < n; ++k) v = v * a + a;
  x[i] = v;
}

// Each lane counts the value that it reads, as a histogram does.
extern "C" __global__ WORKGROUP(64) void contended(const unsigned* values, unsigned* counters) {
  unsigned value = values[group() * 64 + thread()];
  __hip_atomic_fetch_add(counters + value, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// An array that is indexed by what was loaded: it lies in scratch.
extern "C" __global__ WORKGROUP(64) void indexed(const unsigned* which, float* x) {
  float own[256];
  unsigned i = group() * 64 + thread();
#pragma nounroll
  for (int k = 0; k < 256; ++k) own[k] = x[i] + static_cast<float>(k);
  own[which[i] % 256] = 0.0f;
  x[i] = own[which[i] / 256 % 256];
}

// Reads an address that was not saved.
extern "C" __global__ WORKGROUP(64) void wild(float* x) { x[thread()] = x[1ull << 40]; }

// Never ends.
extern "C" __global__ WORKGROUP(64) void endless(volatile unsigned* x) {
  while (x[0] != 1u) x[1] = x[1] + 1u;
}
