// Floating-point numbers of 8 bits, as gfx942 has them: no infinities, no negative zero, NaN is 0x80 (FNUZ).
#pragma once

#include <cmath>

#include "softgpu/numbers.h"

namespace rocm_perf::softgpu {

struct Fp8 {  // E4M3FNUZ
  static constexpr int kFractionBits = 3, kBias = 8;
};

struct Bf8 {  // E5M2FNUZ
  static constexpr int kFractionBits = 2, kBias = 16;
};

template <typename Format>
float float_of_float8(uint8_t value) {
  if (value == 0x80) return bits<float>(0x7fc00000u);
  int exponent = (value & 0x7f) >> Format::kFractionBits;
  int fraction = value & ((1 << Format::kFractionBits) - 1);
  int significand = exponent ? fraction | 1 << Format::kFractionBits : fraction;
  float magnitude =
      std::ldexp(static_cast<float>(significand), (exponent ? exponent : 1) - Format::kBias - Format::kFractionBits);
  return value & 0x80 ? -magnitude : magnitude;
}

// Rounds to the nearest, ties to even; what is too large becomes NaN, as the conversion does without clamping.
template <typename Format>
uint8_t float8_of_float(float value) {
  if (!std::isfinite(value)) return 0x80;
  float magnitude = std::fabs(value);
  int exponent = magnitude == 0 ? 1 : std::ilogb(magnitude) + Format::kBias;
  if (exponent < 1) exponent = 1;
  int scale = Format::kBias + Format::kFractionBits - exponent;
  int steps = static_cast<int>(std::nearbyint(std::ldexp(static_cast<double>(magnitude), scale)));
  // A significand that was rounded up to the next power of two carries into the exponent by itself.
  int word = steps + ((exponent - 1) << Format::kFractionBits);
  if (word > 0x7f) return 0x80;
  return static_cast<uint8_t>(word && value < 0 ? word | 0x80 : word);
}

}  // namespace rocm_perf::softgpu
