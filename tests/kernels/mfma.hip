#include "prelude.h"

__global__ WORKGROUP(64) void mfma_product(const half4* a, const half4* b, float16* c, int n) {
  unsigned i = thread();
  float16 sum = c[i];
  for (int k = 0; k < n; ++k) sum = __builtin_amdgcn_mfma_f32_32x32x8f16(a[64 * k + i], b[64 * k + i], sum, 0, 0, 0);
  c[i] = sum;
}

// Two blocks of a shape whose name does not say so before gfx940.
__global__ WORKGROUP(64) void mfma_blocks(const float* a, const float* b, float32* c) {
  unsigned i = thread();
  c[i] = __builtin_amdgcn_mfma_f32_32x32x1f32(a[i], b[i], c[i], 0, 0, 0);
}
