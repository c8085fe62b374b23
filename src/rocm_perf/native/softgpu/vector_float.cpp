#include "softgpu/arithmetic.h"
#include "softgpu/lanes.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

float product_or_zero(float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }

// gfx9's unfused multiply-add, which flushes denormals whatever the mode says.
float multiply_then_add(float a, float b, float c) {
  return without_denormals(without_denormals(a) * without_denormals(b) + without_denormals(c));
}

Table two_sources() {
  return {
      {"v_add_f32", vector([](float a, float b) { return a + b; })},
      {"v_sub_f32", vector([](float a, float b) { return a - b; })},
      {"v_subrev_f32", vector([](float a, float b) { return b - a; })},
      {"v_mul_f32", vector([](float a, float b) { return a * b; })},
      {"v_mul_legacy_f32", vector([](float a, float b) { return product_or_zero(a, b); })},
      {"v_min_f32", vector([](float a, float b) { return minimum(a, b); })},
      {"v_max_f32", vector([](float a, float b) { return maximum(a, b); })},
      {"v_add_f64", vector([](double a, double b) { return a + b; })},
      {"v_mul_f64", vector([](double a, double b) { return a * b; })},
      {"v_min_f64", vector([](double a, double b) { return minimum(a, b); })},
      {"v_max_f64", vector([](double a, double b) { return maximum(a, b); })},
      {"v_add_f16", vector([](Half a, Half b) { return Half(float{a} + float{b}); })},
      {"v_sub_f16", vector([](Half a, Half b) { return Half(float{a} - float{b}); })},
      {"v_subrev_f16", vector([](Half a, Half b) { return Half(float{b} - float{a}); })},
      {"v_mul_f16", vector([](Half a, Half b) { return Half(float{a} * float{b}); })},
      {"v_min_f16", vector([](Half a, Half b) { return Half(minimum(float{a}, float{b})); })},
      {"v_max_f16", vector([](Half a, Half b) { return Half(maximum(float{a}, float{b})); })},
      {"v_ldexp_f32", vector([](float a, int32_t b) { return std::ldexp(a, b); })},
      {"v_ldexp_f64", vector([](double a, int32_t b) { return std::ldexp(a, b); })},
      {"v_ldexp_f16", vector([](Half a, int16_t b) { return Half::of(half_of_double(std::ldexp(double{a}, b))); })},
  };
}

Table three_sources() {
  return {
      {"v_fma_f32", vector([](float a, float b, float c) { return std::fma(a, b, c); })},
      {"v_fmac_f32", vector([](float a, float b, float c) { return std::fma(a, b, c); })},
      {"v_fmaak_f32", vector([](float a, float b, float c) { return std::fma(a, b, c); })},
      {"v_fmamk_f32", vector([](float a, float b, float c) { return std::fma(a, b, c); })},
      {"v_mad_f32", vector([](float a, float b, float c) { return multiply_then_add(a, b, c); })},
      {"v_mac_f32", vector([](float a, float b, float c) { return multiply_then_add(a, b, c); })},
      {"v_madak_f32", vector([](float a, float b, float c) { return multiply_then_add(a, b, c); })},
      {"v_madmk_f32", vector([](float a, float b, float c) { return multiply_then_add(a, b, c); })},
      {"v_fma_f64", vector([](double a, double b, double c) { return std::fma(a, b, c); })},
      {"v_fmac_f64", vector([](double a, double b, double c) { return std::fma(a, b, c); })},
      {"v_fma_f16", vector([](Half a, Half b, Half c) { return fused_half(a, b, c); })},
      {"v_fmac_f16", vector([](Half a, Half b, Half c) { return fused_half(a, b, c); })},
      {"v_fmaak_f16", vector([](Half a, Half b, Half c) { return fused_half(a, b, c); })},
      {"v_fmamk_f16", vector([](Half a, Half b, Half c) { return fused_half(a, b, c); })},
      {"v_mad_f16", vector([](Half a, Half b, Half c) { return Half(float{Half(float{a} * float{b})} + float{c}); })},
      {"v_mac_f16", vector([](Half a, Half b, Half c) { return Half(float{Half(float{a} * float{b})} + float{c}); })},
      {"v_min3_f32", vector([](float a, float b, float c) { return minimum(minimum(a, b), c); })},
      {"v_max3_f32", vector([](float a, float b, float c) { return maximum(maximum(a, b), c); })},
      {"v_med3_f32", vector([](float a, float b, float c) { return median(a, b, c); })},
      {"v_maxmin_f32", vector([](float a, float b, float c) { return minimum(maximum(a, b), c); })},
      {"v_minmax_f32", vector([](float a, float b, float c) { return maximum(minimum(a, b), c); })},
      {"v_min3_f16",
       vector([](Half a, Half b, Half c) { return Half(minimum(minimum(float{a}, float{b}), float{c})); })},
      {"v_max3_f16",
       vector([](Half a, Half b, Half c) { return Half(maximum(maximum(float{a}, float{b}), float{c})); })},
      {"v_med3_f16", vector([](Half a, Half b, Half c) { return Half(median(float{a}, float{b}, float{c})); })},
      {"v_maxmin_f16",
       vector([](Half a, Half b, Half c) { return Half(minimum(maximum(float{a}, float{b}), float{c})); })},
      {"v_minmax_f16",
       vector([](Half a, Half b, Half c) { return Half(maximum(minimum(float{a}, float{b}), float{c})); })},
  };
}

Table one_source() {
  return {
      {"v_floor_f32", vector([](float a) { return std::floor(a); })},
      {"v_ceil_f32", vector([](float a) { return std::ceil(a); })},
      {"v_trunc_f32", vector([](float a) { return std::trunc(a); })},
      {"v_rndne_f32", vector([](float a) { return std::nearbyint(a); })},
      {"v_fract_f32", vector([](float a) { return fraction(a); })},
      {"v_floor_f64", vector([](double a) { return std::floor(a); })},
      {"v_ceil_f64", vector([](double a) { return std::ceil(a); })},
      {"v_trunc_f64", vector([](double a) { return std::trunc(a); })},
      {"v_rndne_f64", vector([](double a) { return std::nearbyint(a); })},
      {"v_fract_f64", vector([](double a) { return fraction(a); })},
      {"v_floor_f16", vector([](Half a) { return Half(std::floor(float{a})); })},
      {"v_ceil_f16", vector([](Half a) { return Half(std::ceil(float{a})); })},
      {"v_trunc_f16", vector([](Half a) { return Half(std::trunc(float{a})); })},
      {"v_rndne_f16", vector([](Half a) { return Half(std::nearbyint(float{a})); })},
  };
}

}  // namespace

Table vector_float() {
  Table table = two_sources();
  for (const Table& more : {three_sources(), one_source()}) table.insert(table.end(), more.begin(), more.end());
  return table;
}

}  // namespace rocm_perf::softgpu
