// Functions of one lane that several families of instructions share.
#pragma once

#include <cmath>
#include <limits>

#include "softgpu/numbers.h"

namespace rocm_perf::softgpu {

// Of the two, the one that is a number; -0 is less than +0.
template <typename T>
inline T minimum(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <typename T>
inline T maximum(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <typename T>
inline T median(T a, T b, T c) {
  return maximum(minimum(a, b), minimum(maximum(a, b), c));
}

template <typename T>
inline T middle(T a, T b, T c) {  // of integers
  T low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

// To an integer, rounded towards 0; what does not fit becomes the nearest that does, NaN becomes 0.
template <typename Integer, typename Real>
inline Integer truncated(Real value) {
  using Limits = std::numeric_limits<Integer>;
  constexpr Real kEnd = static_cast<Real>(Limits::max() / 2 + 1) * 2;  // one above the largest
  if (!(value == value)) return 0;
  if (value >= kEnd) return Limits::max();
  if (value < static_cast<Real>(Limits::min())) return Limits::min();
  return static_cast<Integer>(value);
}

template <typename T>
inline T without_denormals(T value) {
  return std::fabs(value) < std::numeric_limits<T>::min() ? std::copysign(T{0}, value) : value;
}

template <typename T>
inline T fraction(T value) {
  T part = value - std::floor(value);
  T below_one = std::nextafter(T{1}, T{0});
  return part < below_one ? part : part == part ? below_one : part;
}

inline Half fused_half(Half a, Half b, Half c) {
  // A product of halves is exact in double, and the sum is so near to exact that the rounding below is the only one.
  return Half::of(half_of_double(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c)));
}

}  // namespace rocm_perf::softgpu
