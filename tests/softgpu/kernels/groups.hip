// Work-items of a group that share LDS and wait for one another.
#include "kernel.h"

KERNEL softmax(const float* x, float* y, int n) {
  SHARED float parts[256];
  const float* row = x + (u64)group_x() * n;
  u32 t = thread_x();
  float most = -1e30f, sum = 0;
  for (int i = t; i < n; i += 256) most = __builtin_fmaxf(most, row[i]);
  parts[t] = most;
  barrier();
  for (u32 k = 128; k > 0; k /= 2) {
    if (t < k) parts[t] = __builtin_fmaxf(parts[t], parts[t + k]);
    barrier();
  }
  most = parts[0];
  barrier();
  for (int i = t; i < n; i += 256) sum += exp2_of((row[i] - most) * 1.44269504f);
  parts[t] = sum;
  barrier();
  for (u32 k = 128; k > 0; k /= 2) {
    if (t < k) parts[t] += parts[t + k];
    barrier();
  }
  for (int i = t; i < n; i += 256) y[(u64)group_x() * n + i] = exp2_of((row[i] - most) * 1.44269504f) / parts[0];
}
TWIN(softmax)

KERNEL reduce(const float* x, float* sums, float* total, int n) {
  SHARED float parts[256];
  u32 t = thread_x();
  float sum = 0;
  for (u32 i = item(); i < (u32)n; i += grid_x()) sum += x[i];
  parts[t] = sum;
  barrier();
  for (u32 k = 128; k > 0; k /= 2) {
    if (t < k) parts[t] += parts[t + k];
    barrier();
  }
  if (t == 0) {
    sums[group_x()] = parts[0];
    ATOMIC(fetch_add, total, parts[0]);
  }
}
TWIN(reduce)

KERNEL reduce_waves(const float* x, float* sums) {
  float sum = x[item()];
  for (u32 k = 1; k < lanes(); k *= 2) sum += shuffle(sum, lane() ^ k);
  sums[item()] = sum;
}
TWIN(reduce_waves)

KERNEL histogram(const u8* x, u32* counts, int n) {
  SHARED u32 own[256];
  own[thread_x()] = 0;
  barrier();
  for (u32 i = item(); i < (u32)n; i += grid_x()) ATOMIC(fetch_add, &own[x[i]], 1u);
  barrier();
  ATOMIC(fetch_add, &counts[thread_x()], own[thread_x()]);
}
TWIN(histogram)

KERNEL scan(const int* x, int* y) {
  SHARED int values[2][256];
  u32 t = thread_x();
  int from = 0;
  values[0][t] = x[item()];
  barrier();
  for (u32 k = 1; k < 256; k *= 2) {
    values[1 - from][t] = values[from][t] + (t >= k ? values[from][t - k] : 0);
    from = 1 - from;
    barrier();
  }
  y[item()] = values[from][t];
}
TWIN(scan)

KERNEL transpose(const float* x, float* y, int width, int height) {
  SHARED float tile[32][33];
  int column = group_x() * 32 + thread_x(), row = group_y() * 32 + thread_y();
  for (int k = 0; k < 32; k += 8)
    if (column < width && row + k < height) tile[thread_y() + k][thread_x()] = x[(row + k) * width + column];
  barrier();
  column = group_y() * 32 + thread_x();
  row = group_x() * 32 + thread_y();
  for (int k = 0; k < 32; k += 8)
    if (column < height && row + k < width) y[(row + k) * height + column] = tile[thread_x()][thread_y() + k];
}
TWIN(transpose)

KERNEL matmul(const float* a, const float* b, float* c, int n) {
  SHARED float left[16][16], right[16][16];
  u32 tx = thread_x(), ty = thread_y();
  int column = group_x() * 16 + tx, row = group_y() * 16 + ty;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[ty][tx] = a[row * n + k + tx];
    right[ty][tx] = b[(k + ty) * n + column];
    barrier();
    for (int j = 0; j < 16; ++j) sum += left[ty][j] * right[j][tx];
    barrier();
  }
  c[row * n + column] = sum;
}
TWIN(matmul)

KERNEL bitonic(u32* x) {
  SHARED u32 values[512];
  u32 t = thread_x();
  values[t] = x[512 * group_x() + t];
  values[t + 256] = x[512 * group_x() + t + 256];
  barrier();
  for (u32 size = 2; size <= 512; size *= 2)
    for (u32 stride = size / 2; stride > 0; stride /= 2) {
      u32 at = 2 * t - (t & (stride - 1));
      bool is_descending = (at & size) != 0;
      u32 a = values[at], b = values[at + stride];
      if ((a > b) != is_descending) {
        values[at] = b;
        values[at + stride] = a;
      }
      barrier();
    }
  x[512 * group_x() + t] = values[t];
  x[512 * group_x() + t + 256] = values[t + 256];
}
TWIN(bitonic)

KERNEL atomics(const int* x, int* ints, u64* longs, double* doubles, int n) {
  u32 i = item();
  if (i >= (u32)n) return;
  int v = x[i];
  ATOMIC(fetch_add, &ints[0], v);
  ATOMIC(fetch_min, &ints[1], v);
  ATOMIC(fetch_max, &ints[2], v);
  ATOMIC(fetch_or, &ints[3], v);
  ATOMIC(fetch_and, &ints[4], v);
  ATOMIC(fetch_xor, &ints[5 + (i & 3)], v);
  ATOMIC(fetch_add, &longs[i & 1], (u64)(u32)v);
  ATOMIC(fetch_max, &longs[2], (u64)(u32)v << 7);
  ATOMIC(fetch_add, &doubles[i & 1], (double)(v & 0xffff));
}
TWIN(atomics)
