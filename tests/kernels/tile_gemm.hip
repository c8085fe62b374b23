#include "prelude.h"

// A 16 x 16 tile of C = A B a workgroup, with both tiles in LDS.
__global__ WORKGROUP(256) void tile_gemm(const float* a, const float* b, float* c, int n) {
  __shared__ float left[16][16], right[16][16];
  unsigned x = thread() % 16, y = thread() / 16, row = group() / (n / 16) * 16 + y,
           column = group() % (n / 16) * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    barrier();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    barrier();
  }
  c[row * n + column] = sum;
}
