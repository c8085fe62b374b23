// Kernels whose work is known by arithmetic, in words that HIP and CUDA share: `thread`, `group`, `barrier`, WORKGROUP.
// Multiplications and additions are not fused, so that both compilers count the same operations; nor is there a
// division of integers by a variable, which compilers turn into floating-point operations.
#pragma once

// 2 operations and 12 bytes for each of n elements.
extern "C" __global__ WORKGROUP(256) void saxpy(const float* x, float* y, float a, int n) {
  int i = group() * 256 + thread();
  if (i < n) y[i] = a * x[i] + y[i];
}

// 6 operations, 5 elements read and one written for each inner point of a 512 x height image.
extern "C" __global__ WORKGROUP(256) void stencil(const float* in, float* out, int height) {
  const int width = 512;
  int i = group() * 256 + thread(), x = i % width, y = i / width;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  out[i] = 0.5f * in[i] + 0.125f * (((in[i - 1] + in[i + 1]) + in[i - width]) + in[i + width]);
}

// 255 additions, 256 elements read and one written for each workgroup.
extern "C" __global__ WORKGROUP(256) void block_sum(const float* x, float* sums) {
  __shared__ float part[256];
  unsigned t = thread();
  part[t] = x[group() * 256 + t];
  barrier();
  for (unsigned step = 128; step; step /= 2) {
    if (t < step) part[t] += part[t + step];
    barrier();
  }
  if (t == 0) sums[group()] = part[0];
}

// 2 n operations and 2 n / 16 + 1 elements for each element of an n x n product, n = 16 << shift.
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
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    barrier();
  }
  c[row * n + column] = sum;
}
