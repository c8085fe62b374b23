// Numbers of the GPU that C++ has no portable types for, and bits taken as numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace rocm_perf::softgpu {

using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

template <typename To, typename From>
inline To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

inline float float_of_half(uint16_t half) {
  uint32_t magnitude = half & 0x7fffu;
  // Multiplying by 2^112 moves the exponent from a bias of 15 to one of 127, and is exact for denormals too.
  float value = bits<float>(magnitude << 13) * 0x1p112f;
  uint32_t wide = magnitude >= 0x7c00u ? 0x7f800000u | (magnitude & 0x3ffu) << 13 : bits<uint32_t>(value);
  return bits<float>(wide | (half & 0x8000u) << 16);
}

// Rounds to the nearest, ties to even.
inline uint16_t half_of_float(float value) {
  uint32_t word = bits<uint32_t>(value), magnitude = word & 0x7fffffffu;
  uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
  uint32_t tiny = bits<uint32_t>(bits<float>(magnitude) + 0.5f) - 0x3f000000u;  // the addition rounds at 2^-24
  uint32_t infinite = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : 0x7c00u;
  uint32_t half = magnitude >= 0x477ff000u ? infinite : magnitude < 0x38800000u ? tiny : normal;
  return static_cast<uint16_t>(half | (word >> 16 & 0x8000u));
}

// The same from a double: rounding to float first could round twice.
inline uint16_t half_of_double(double value) {
  float nearest = static_cast<float>(value);
  double lost = value - static_cast<double>(nearest);
  uint32_t word = bits<uint32_t>(nearest);
  // To odd: the float keeps a trace of what it lost, so that the second rounding is as good as one.
  if (std::isfinite(nearest) && lost != 0 && !(word & 1)) word += ((lost > 0) == (nearest > 0)) ? 1 : -1;
  return half_of_float(bits<float>(word));
}

inline float float_of_bfloat(uint16_t value) { return bits<float>(static_cast<uint32_t>(value) << 16); }

inline uint16_t bfloat_of_float(float value) {
  uint32_t word = bits<uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(word >> 16 | 0x40u);
  return static_cast<uint16_t>((word + 0x7fffu + (word >> 16 & 1)) >> 16);
}

// Half precision: computed in float and rounded, which for one addition, product, quotient or root is exact rounding.
struct Half {
  uint16_t word = 0;
  Half() = default;
  Half(float value) : word(half_of_float(value)) {}
  operator float() const { return float_of_half(word); }
  static Half of(uint16_t word) {
    Half half;
    half.word = word;
    return half;
  }
};

struct BFloat {
  uint16_t word = 0;
  BFloat() = default;
  BFloat(float value) : word(bfloat_of_float(value)) {}
  operator float() const { return float_of_bfloat(word); }
  static BFloat of(uint16_t word) {
    BFloat number;
    number.word = word;
    return number;
  }
};

template <typename T>
inline T lower(T value, unsigned count) {  // the lowest bits
  return count >= sizeof(T) * 8 ? value : value & ((T{1} << count) - 1);
}

inline int32_t sign_extended(uint32_t value, unsigned count) {
  if (count == 0) return 0;
  unsigned shift = 32 - (count > 32 ? 32 : count);
  return static_cast<int32_t>(value << shift) >> shift;
}

}  // namespace rocm_perf::softgpu
