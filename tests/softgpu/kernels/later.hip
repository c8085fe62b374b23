// Written and compiled after the executor was finished: they ran unchanged.
#include "kernel.h"
KERNEL mandelbrot(float* out, int w) {
  int x = group_x() * 16 + thread_x(), y = group_y() * 16 + thread_y();
  float cx = -2.0f + 3.0f * x / w, cy = -1.5f + 3.0f * y / w, a = 0, b = 0;
  int n = 0;
  while (n < 200 && a * a + b * b < 4.0f) {
    float t = a * a - b * b + cx;
    b = 2 * a * b + cy;
    a = t;
    ++n;
  }
  out[y * w + x] = n;
}
TWIN(mandelbrot)
KERNEL crc(const u8* x, u32* y, int n, int len) {
  int i = item();
  if (i >= n) return;
  u32 c = ~0u;
  for (int k = 0; k < len; ++k) {
    c ^= x[i * len + k];
    for (int j = 0; j < 8; ++j) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
  }
  y[i] = ~c;
}
TWIN(crc)
KERNEL spmv(const int* rows, const int* cols, const double* v, const double* x, double* y, int n) {
  int i = item();
  if (i >= n) return;
  double s = 0;
  for (int k = rows[i]; k < rows[i + 1]; ++k) s += v[k] * x[cols[k]];
  y[i] = s;
}
TWIN(spmv)
KERNEL layernorm(const half* x, half* y, int n) {
  SHARED float s[128];
  u32 t = thread_x();
  float a = 0;
  for (int i = t; i < n; i += 128) a += (float)x[group_x() * n + i];
  s[t] = a;
  barrier();
  for (u32 k = 64; k; k /= 2) {
    if (t < k) s[t] += s[t + k];
    barrier();
  }
  float m = s[0] / n;
  barrier();
  a = 0;
  for (int i = t; i < n; i += 128) {
    float d = (float)x[group_x() * n + i] - m;
    a += d * d;
  }
  s[t] = a;
  barrier();
  for (u32 k = 64; k; k /= 2) {
    if (t < k) s[t] += s[t + k];
    barrier();
  }
  float r = 1.0f / __builtin_sqrtf(s[0] / n + 1e-5f);
  for (int i = t; i < n; i += 128) y[group_x() * n + i] = (half)(((float)x[group_x() * n + i] - m) * r);
}
TWIN(layernorm)
KERNEL xorshift(u64* state, double* out, int n) {
  int i = item();
  if (i >= n) return;
  u64 s = state[i];
  double acc = 0;
  for (int k = 0; k < 50; ++k) {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    acc += (double)(s >> 11) * 0x1p-53;
  }
  state[i] = s;
  out[i] = acc;
}
TWIN(xorshift)
KERNEL quant(const float* x, i8* q, float* scale, int n) {
  SHARED float m[64];
  u32 t = thread_x();
  float a = 0;
  for (int i = t; i < n; i += 64) a = __builtin_fmaxf(a, __builtin_fabsf(x[group_x() * n + i]));
  m[t] = a;
  barrier();
  for (u32 k = 32; k; k /= 2) {
    if (t < k) m[t] = __builtin_fmaxf(m[t], m[t + k]);
    barrier();
  }
  float s = m[0] / 127.0f;
  if (t == 0) scale[group_x()] = s;
  for (int i = t; i < n; i += 64) {
    float v = __builtin_rintf(x[group_x() * n + i] / s);
    q[group_x() * n + i] = (i8)(int)v;
  }
}
TWIN(quant)
KERNEL nqueens(int* out) {
  int first = item();
  if (first >= 8) return;
  int pos[8];
  pos[0] = first;
  int row = 1, count = 0;
  pos[1] = -1;
  while (row > 0) {
    ++pos[row];
    if (pos[row] == 8) {
      --row;
      continue;
    }
    bool ok = true;
    for (int k = 0; k < row; ++k)
      if (pos[k] == pos[row] || pos[k] - pos[row] == row - k || pos[row] - pos[k] == row - k) ok = false;
    if (!ok) continue;
    if (row == 7)
      ++count;
    else
      pos[++row] = -1;
  }
  out[first] = count;
}
TWIN(nqueens)
