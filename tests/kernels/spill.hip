#include "prelude.h"

// Holds 192 values across a barrier and is allowed few registers.
__global__ WORKGROUP(1024) WAVES_PER_SIMD(8) void spill(const float* in, float* out, int n) {
  float held[192];
  for (int i = 0; i < 192; ++i) held[i] = in[i * n + thread()];
  barrier();
  for (int i = 0; i < 192; ++i) held[i] = held[i] * held[(i * 7 + 3) % 192] + held[(i * 5 + 1) % 192];
  barrier();
  for (int i = 0; i < 192; ++i) out[i * n + thread()] = held[i];
}
