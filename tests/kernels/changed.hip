// clang-format off
#include "prelude.h"
#define stencil stencil_before
#define matmul matmul_before
#include "known_work.h"
#undef stencil
#undef matmul

// Two rewrites of kernels of known_work.h. This one is right: four neighbours from LDS where they are in the workgroup.
extern "C" __global__ WORKGROUP(256) void stencil(const float* in, float* out, int height) {
  __shared__ float row[256];
  const int width = 512;
  int t = thread(), i = group() * 256 + t, x = i % width, y = i / width;
  row[t] = in[i];
  barrier();
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  float left = t > 0 ? row[t - 1] : in[i - 1], right = t < 255 ? row[t + 1] : in[i + 1];
  out[i] = 0.5f * row[t] + 0.125f * (((left + right) + in[i - width]) + in[i + width]);
}

// This one is wrong: without the second barrier, a wave may overwrite tiles that another one still reads; and it leaves
// out the last column of each tile.
extern "C" __global__ WORKGROUP(256) void matmul(const float* a, const float* b, float* c, int shift) {
  __shared__ float left[16][17], right[16][17];
  unsigned x = thread() % 16, y = thread() / 16;
  unsigned row = (group() >> shift) * 16 + y, column = (group() & ((1 << shift) - 1)) * 16 + x;
  int n = 16 << shift;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    barrier();
    for (int i = 0; i < 15; ++i) sum += left[y][i] * right[i][x];
  }
  c[row * n + column] = sum;
}
