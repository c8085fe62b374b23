#include "softgpu/arithmetic.h"
#include "softgpu/lanes.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

// The hardware's approximations in single precision flush denormals; here the exact value is rounded once.
template <auto F>
float approximated(float value) {
  return without_denormals(static_cast<float>(F(static_cast<double>(without_denormals(value)))));
}

Half rounded_half(double value) { return Half::of(half_of_double(value)); }

// Sine and cosine take turns, not radians.
double sine(double turns) { return std::isfinite(turns) ? std::sin(kTwoPi * std::remainder(turns, 1.0)) : NAN; }
double cosine(double turns) { return std::isfinite(turns) ? std::cos(kTwoPi * std::remainder(turns, 1.0)) : NAN; }

int32_t exponent_of(double value) {
  int exponent = 0;
  if (std::isfinite(value)) std::frexp(value, &exponent);
  return exponent;
}

template <typename T>
T significand_of(T value) {
  int exponent = 0;
  return std::isfinite(value) ? std::frexp(value, &exponent) : value;
}

template <typename T>
struct Layout;
template <>
struct Layout<float> {
  using Word = uint32_t;
  static constexpr int kFractionBits = 23, kMostExponent = 255, kFarApart = 96, kTiny = 23, kLost = -150;
  static constexpr int kScale = 64, kMiddle = 127;
};
template <>
struct Layout<double> {
  using Word = uint64_t;
  static constexpr int kFractionBits = 52, kMostExponent = 2047, kFarApart = 768, kTiny = 53, kLost = -1075;
  static constexpr int kScale = 128, kMiddle = 1023;
};

template <typename T>
int biased_exponent(T value) {
  using L = Layout<T>;
  return static_cast<int>(bits<typename L::Word>(value) >> L::kFractionBits) & L::kMostExponent;
}

template <typename T>
bool is_denormal(T value) {
  return value != 0 && biased_exponent(value) == 0;
}

// The first step of a division: scales what would leave the range of normal numbers (AMD, CDNA 3 ISA: V_DIV_SCALE).
template <typename T>
T scaled_for_division(T value, T denominator, T numerator, bool& is_scaled) {
  using L = Layout<T>;
  is_scaled = false;
  if (numerator == 0 || denominator == 0) return std::numeric_limits<T>::quiet_NaN();
  bool is_quotient_denormal = is_denormal(static_cast<T>(numerator / denominator));
  bool is_inverse_denormal = is_denormal(static_cast<T>(1 / denominator));
  if (biased_exponent(numerator) - biased_exponent(denominator) >= L::kFarApart) {
    is_scaled = true;
    return value == denominator ? std::ldexp(value, L::kScale) : value;
  }
  if (is_denormal(denominator)) return std::ldexp(value, L::kScale);
  if (is_inverse_denormal && is_quotient_denormal) {  // the guide's 2^64 here would overflow
    is_scaled = true;
    return value == denominator ? std::ldexp(value, -L::kScale) : value;
  }
  if (is_inverse_denormal) return std::ldexp(value, -L::kScale);
  if (is_quotient_denormal) {
    is_scaled = true;
    return value == numerator ? std::ldexp(value, L::kScale) : value;
  }
  return biased_exponent(numerator) <= L::kTiny ? std::ldexp(value, L::kScale) : value;
}

template <typename T>
void divide_scale(Wave& wave, const Instruction& instruction) {
  Source<T> value(wave, instruction, 2, 0), denominator(wave, instruction, 3, 1), numerator(wave, instruction, 4, 2);
  Result<T> result;
  uint8_t flags[kLanes] = {};
  for (int lane = 0; lane < wave.size; ++lane) {
    bool is_scaled = false;
    result.set(lane, scaled_for_division(value[lane], denominator[lane], numerator[lane], is_scaled));
    flags[lane] = is_scaled;
  }
  result.put_into(wave, instruction, 0);
  wave.set_lane_mask(instruction.operands[1].index, packed(flags, wave.size) & wave.exec());
}

// a * b + c, scaled by a power of two and rounded once.
float scaled_sum(float a, float b, float c, int exponent) {
  double product = double{a} * b, sum = product + c;  // the product is exact
  double from_c = sum - product, lost = (product - (sum - from_c)) + (c - from_c);
  uint64_t word = bits<uint64_t>(sum);
  // To odd: what the sum lost is kept in its last bit, so that the rounding to float is the only one.
  if (lost != 0 && std::isfinite(sum) && !(word & 1)) word += (lost > 0) == (sum > 0) ? 1 : ~uint64_t{0};
  return static_cast<float>(std::ldexp(bits<double>(word), exponent));
}

// In double precision a quotient below the normal numbers is rounded twice.
double scaled_sum(double a, double b, double c, int exponent) { return std::ldexp(std::fma(a, b, c), exponent); }

// The last multiply-add of a division; VCC says which lanes were scaled.
template <typename T>
void divide_fused(Wave& wave, const Instruction& instruction) {
  using L = Layout<T>;
  Source<T> a(wave, instruction, 1, 0), b(wave, instruction, 2, 1), c(wave, instruction, 3, 2);
  uint64_t is_scaled = wave.lane_mask(kVcc);
  Result<T> result;
  each_lane(wave, [&](int lane) {
    int exponent = biased_exponent(c[lane]) > L::kMiddle ? L::kScale : -L::kScale;
    result.set(lane, is_scaled >> lane & 1 ? scaled_sum(a[lane], b[lane], c[lane], exponent)
                                           : std::fma(a[lane], b[lane], c[lane]));
  });
  result.put_into(wave, instruction, 0);
}

// Replaces the quotient where an operand is special.
template <typename T>
T fixed_quotient(T quotient, T denominator, T numerator) {
  using L = Layout<T>;
  T sign = std::signbit(denominator) != std::signbit(numerator) ? T{-1} : T{1};
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  if (numerator != numerator) return numerator;
  if (denominator != denominator) return denominator;
  bool is_nonsense = (numerator == 0 && denominator == 0) || (std::isinf(numerator) && std::isinf(denominator));
  if (is_nonsense) return -std::numeric_limits<T>::quiet_NaN();
  if (denominator == 0 || std::isinf(numerator)) return sign * kInfinity;
  if (std::isinf(denominator) || numerator == 0) return sign * T{0};
  int exponent = biased_exponent(numerator) - biased_exponent(denominator);
  if (exponent < L::kLost) return sign * T{0};
  if (exponent > L::kMiddle + 1) return sign * kInfinity;
  return std::copysign(quotient, sign);
}

Half fixed_half(Half quotient, Half denominator, Half numerator) {
  float sign = std::signbit(float{denominator}) != std::signbit(float{numerator}) ? -1.0f : 1.0f;
  float fixed = fixed_quotient(float{quotient}, float{denominator}, float{numerator});
  return std::isnan(fixed) ? Half(fixed) : Half(std::copysign(fixed, sign));
}

}  // namespace

Table vector_special() {
  return {
      {"v_exp_f32", vector([](float a) { return approximated<[](double x) { return std::exp2(x); }>(a); })},
      {"v_log_f32", vector([](float a) { return approximated<[](double x) { return std::log2(x); }>(a); })},
      {"v_rcp_f32", vector([](float a) { return approximated<[](double x) { return 1 / x; }>(a); })},
      {"v_rcp_iflag_f32", vector([](float a) { return approximated<[](double x) { return 1 / x; }>(a); })},
      {"v_rsq_f32", vector([](float a) { return approximated<[](double x) { return 1 / std::sqrt(x); }>(a); })},
      {"v_sqrt_f32", vector([](float a) { return approximated<[](double x) { return std::sqrt(x); }>(a); })},
      {"v_sin_f32", vector([](float a) { return approximated<[](double x) { return sine(x); }>(a); })},
      {"v_cos_f32", vector([](float a) { return approximated<[](double x) { return cosine(x); }>(a); })},
      {"v_exp_f16", vector([](Half a) { return rounded_half(std::exp2(double{a})); })},
      {"v_log_f16", vector([](Half a) { return rounded_half(std::log2(double{a})); })},
      {"v_rcp_f16", vector([](Half a) { return rounded_half(1 / double{a}); })},
      {"v_rsq_f16", vector([](Half a) { return rounded_half(1 / std::sqrt(double{a})); })},
      {"v_sqrt_f16", vector([](Half a) { return rounded_half(std::sqrt(double{a})); })},
      {"v_sin_f16", vector([](Half a) { return rounded_half(sine(double{a})); })},
      {"v_cos_f16", vector([](Half a) { return rounded_half(cosine(double{a})); })},
      {"v_rcp_f64", vector([](double a) { return 1 / a; })},
      {"v_rsq_f64", vector([](double a) { return 1 / std::sqrt(a); })},
      {"v_sqrt_f64", vector([](double a) { return std::sqrt(a); })},
      {"v_frexp_exp_i32_f32", vector([](float a) { return exponent_of(a); })},
      {"v_frexp_exp_i32_f64", vector([](double a) { return exponent_of(a); })},
      {"v_frexp_exp_i16_f16", vector([](Half a) { return static_cast<int16_t>(exponent_of(double{a})); })},
      {"v_frexp_mant_f32", vector([](float a) { return significand_of(a); })},
      {"v_frexp_mant_f64", vector([](double a) { return significand_of(a); })},
      {"v_frexp_mant_f16", vector([](Half a) { return Half(significand_of(float{a})); })},
      {"v_div_scale_f32", {divide_scale<float>, {Type::kF32, Type::kB64, Type::kF32, Type::kF32, Type::kF32}}},
      {"v_div_scale_f64", {divide_scale<double>, {Type::kF64, Type::kB64, Type::kF64, Type::kF64, Type::kF64}}},
      {"v_div_fmas_f32", {divide_fused<float>, {Type::kF32, Type::kF32, Type::kF32, Type::kF32}}},
      {"v_div_fmas_f64", {divide_fused<double>, {Type::kF64, Type::kF64, Type::kF64, Type::kF64}}},
      {"v_div_fixup_f32", vector([](float a, float b, float c) { return fixed_quotient(a, b, c); })},
      {"v_div_fixup_f64", vector([](double a, double b, double c) { return fixed_quotient(a, b, c); })},
      {"v_div_fixup_f16", vector([](Half a, Half b, Half c) { return fixed_half(a, b, c); })},
  };
}

}  // namespace rocm_perf::softgpu
