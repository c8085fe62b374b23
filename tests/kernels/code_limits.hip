#include "prelude.h"

// One limit each that the machine code shows; tests/unit/analysis/limits/test_code.py says which.

// Constants without an f make each step a double.
extern "C" __global__ WORKGROUP(256) void double_steps(float* x, int n) {
  unsigned i = group() * 256 + thread();
  float v = x[i];
  for (int k = 0; k < n; ++k) v = static_cast<float>(v * 1.0001 + 0.5);
  x[i] = v;
}

// The same, meant.
extern "C" __global__ WORKGROUP(256) void doubles(double* x, int n) {
  unsigned i = group() * 256 + thread();
  double v = x[i];
  for (int k = 0; k < n; ++k) v = v * 1.0001 + 0.5;
  x[i] = v;
}

// The same in single precision: nothing to find.
extern "C" __global__ WORKGROUP(256) void float_steps(float* x, int n) {
  unsigned i = group() * 256 + thread();
  float v = x[i];
  for (int k = 0; k < n; ++k) v = v * 1.0001f + 0.5f;
  x[i] = v;
}

// One byte at a time.
extern "C" __global__ WORKGROUP(256) void byte_copy(const unsigned char* from, unsigned char* to, int n) {
#pragma clang loop unroll(disable)
  for (int k = thread(); k < n; k += 256) to[k] = from[k];
}

// Four floats at a time: nothing to find.
extern "C" __global__ WORKGROUP(256) void wide_copy(const float4* from, float4* to, int n) {
#pragma clang loop unroll(disable)
  for (int k = thread(); k < n; k += 256) to[k] = from[k];
}

// Divides by a number that nobody knows before.
extern "C" __global__ WORKGROUP(256) void divide(unsigned* x, unsigned by, int n) {
  unsigned i = group() * 256 + thread(), v = x[i], sum = 0;
  for (int k = 0; k < n; ++k) {
    sum += v / (by + k + thread());
    v = v * 3 + sum;
  }
  x[i] = sum;
}

// Sine and power of two.
extern "C" __global__ WORKGROUP(256) void waves(float* x, int n) {
  unsigned i = group() * 256 + thread();
  float v = x[i];
  for (int k = 0; k < n; ++k) v = __builtin_amdgcn_sinf(v) + __builtin_amdgcn_exp2f(v);
  x[i] = v;
}

// Two barriers for each addition.
extern "C" __global__ WORKGROUP(256) void phases(float* x, int n) {
  __shared__ float tile[256];
  unsigned t = thread(), i = group() * 256 + t;
  float v = x[i];
  for (int k = 0; k < n; ++k) {
    tile[t] = v;
    barrier();
    v += tile[t ^ 1];
    barrier();
  }
  x[i] = v;
}

// Products of halves, without matrix instructions.
extern "C" __global__ WORKGROUP(256) void half_product(const half16* a, const half16* b, half16* out, int n) {
  unsigned t = thread();
  half16 sum = a[t], other = b[t];
#pragma clang loop unroll(disable)
  for (int k = 0; k < n; ++k) {
    half16 x = a[256 * k + t], y = b[256 * k + t];
    sum = sum * x + y;
    other = other * y + x;
    sum = sum * other + x;
    other = other * sum + y;
  }
  out[group() * 256 + t] = sum + other;
}

// The largest number, by compare-and-swap.
extern "C" __global__ WORKGROUP(256) void largest(const unsigned long* x, unsigned long* most, int n) {
  for (int k = thread(); k < n; k += 256) {
    unsigned long old = *most;
    while (old * 3 < x[k] * 5 && !__hip_atomic_compare_exchange_strong(most, &old, x[k], __ATOMIC_RELAXED,
                                                                       __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
    }
  }
}

// Holds more values than it has registers for, in a loop.
extern "C" __global__ WORKGROUP(1024) WAVES_PER_SIMD(8) void spilled(float* x, int n) {
  float held[160];
#pragma unroll
  for (int j = 0; j < 160; ++j) held[j] = x[j * 1024 + thread()];
#pragma clang loop unroll(disable)
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int j = 0; j < 160; ++j) held[j] = held[j] * held[(j + 7) % 160] + held[(j * 3 + 5) % 160];
  }
#pragma unroll
  for (int j = 0; j < 160; ++j) x[j * 1024 + thread()] = held[j];
}
