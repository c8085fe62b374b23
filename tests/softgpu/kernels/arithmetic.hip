// Element by element: no work-item waits for another.
#include "kernel.h"

KERNEL saxpy(float a, const float* x, float* y, int n) {
  int i = item();
  if (i < n) y[i] = a * x[i] + y[i];
}
TWIN(saxpy)

template <typename T, int kEach>
TEMPLATE_KERNEL axpby(T a, const T* x, T b, T* y, u32 n) {
  u32 first = item() * kEach;
  for (int k = 0; k < kEach; ++k)
    if (first + k < n) y[first + k] = a * x[first + k] + b * y[first + k];
}
#ifdef __AMDGCN__
template TEMPLATE_KERNEL axpby<float, 4>(float, const float*, float, float*, u32);
template TEMPLATE_KERNEL axpby<double, 2>(double, const double*, double, double*, u32);
template TEMPLATE_KERNEL axpby<half, 4>(half, const half*, half, half*, u32);
template TEMPLATE_KERNEL axpby<int, 2>(int, const int*, int, int*, u32);
#endif
TWIN_AS(axpby_float, (axpby<float, 4>))
TWIN_AS(axpby_double, (axpby<double, 2>))
TWIN_AS(axpby_half, (axpby<half, 4>))
TWIN_AS(axpby_int, (axpby<int, 2>))

KERNEL stencil(const float* a, float* b, int width, int height) {
  int x = group_x() * 16 + thread_x(), y = group_y() * 16 + thread_y();
  if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
    const float* at = a + y * width + x;
    b[y * width + x] = 0.25f * (at[-1] + at[1] + at[-width] + at[width]) - at[0];
  }
}
TWIN(stencil)

KERNEL gather(const float* x, const int* from, float* y, i64 n) {
  i64 i = item();
  if (i < n) {
    int j = from[i];
    y[i] = j >= 0 ? x[j] : 0.0f;
  }
}
TWIN(gather)

KERNEL divide(const float* a, const float* b, float* quotients, float* roots, int n) {
  int i = item();
  if (i < n) {
    quotients[i] = a[i] / b[i];
    roots[i] = __builtin_sqrtf(__builtin_fabsf(a[i]));
  }
}
TWIN(divide)

KERNEL divide_double(const double* a, const double* b, double* quotients, double* roots, int n) {
  int i = item();
  if (i < n) {
    quotients[i] = a[i] / b[i];
    roots[i] = __builtin_sqrt(__builtin_fabs(a[i]));
  }
}
TWIN(divide_double)

KERNEL rounding(const float* x, float* y, int* z, int n) {
  int i = item();
  if (i < n) {
    float v = x[i];
    y[4 * i] = __builtin_floorf(v);
    y[4 * i + 1] = __builtin_ceilf(v);
    y[4 * i + 2] = __builtin_truncf(v);
    y[4 * i + 3] = __builtin_rintf(v);
    z[i] = v < 0 ? (int)(v * 16.0f) : (int)(u32)(v * 32.0f);
  }
}
TWIN(rounding)
