// Floating-point numbers of 16 bits.
#include "kernel.h"

KERNEL halves(const half* x, const half* y, half* z, float* wide, int n) {
  int i = item();
  if (i >= n) return;
  half a = x[2 * i], b = x[2 * i + 1], c = y[i];
  half* to = z + 8 * i;
  to[0] = a + b;
  to[1] = a * b;
  to[2] = a - c;
  to[3] = a > b ? a : c;
  to[4] = a / b;
  to[5] = (half)(float)(int)(float)c;
  to[6] = (half)(wide[i] * 3.0f);
  to[7] = __builtin_elementwise_fma(a, b, c);
  wide[i] = (float)a * (float)b + (float)c;
}
TWIN(halves)

typedef half half2 __attribute__((ext_vector_type(2)));
KERNEL pairs(const half2* x, const half2* y, half2* z, int n) {
  int i = item();
  if (i >= n) return;
  half2 a = x[i], b = y[i];
  z[4 * i] = a * b + a;
  z[4 * i + 1] = a - b.yx;
  z[4 * i + 2] = __builtin_elementwise_max(a, b);
  z[4 * i + 3] = -a + (half)2;
}
TWIN(pairs)

KERNEL brains(const u16* x, u16* y, float* wide, int n) {
  int i = item();
  if (i >= n) return;
  float a = of_bfloat(x[2 * i]), b = of_bfloat(x[2 * i + 1]);
  y[2 * i] = to_bfloat(a * b);
  y[2 * i + 1] = to_bfloat(a + wide[i]);
  wide[i] = a - b;
}
TWIN(brains)

KERNEL widths(const double* x, float* f, half* h, int* i32, u32* un, i64* l, int n) {
  int i = item();
  if (i >= n) return;
  f[i] = (float)x[i];
  h[i] = (half)f[i];
  i32[i] = (int)x[i];
  un[i] = (u32)(x[i] < 0 ? -x[i] : x[i]);
  l[i] = (i64)(x[i] * 1e6);
}
TWIN(widths)

KERNEL from_integers(const int* a, const i64* b, float* f, double* d, half* h, int n) {
  int i = item();
  if (i >= n) return;
  f[4 * i] = (float)a[i];
  f[4 * i + 1] = (float)(u32)a[i];
  f[4 * i + 2] = (float)b[i];
  f[4 * i + 3] = (float)(u8)a[i] + (float)(u8)(a[i] >> 8) + (float)(a[i] >> 24 & 0xff);
  d[2 * i] = (double)b[i];
  d[2 * i + 1] = (double)(u32)a[i];
  h[i] = (half)(short)a[i];
}
TWIN(from_integers)
