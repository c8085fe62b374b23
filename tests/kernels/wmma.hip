#include "prelude.h"

__global__ WORKGROUP(32) void wmma_product(const half16* a, const half16* b, float8* c, int n) {
  unsigned i = thread();
  float8 sum = c[i];
  for (int k = 0; k < n; ++k) sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[32 * k + i], b[32 * k + i], sum);
  c[i] = sum;
}
