#include <string>

#include "ceilings/arithmetic.h"
#include "ceilings/report.h"
#include "gpu/gpu.h"

namespace rocm_perf {

namespace {

constexpr int kThreads = 256;
constexpr int kChains = 8;  // independent, so that one does not wait for another
constexpr int kSteps = 4096;
constexpr int kLanes = 2;  // values of one operand: packed instructions compute both at once

#if defined(__HIP__)
template <typename T>
using Pair = T __attribute__((ext_vector_type(2)));
using HalfPair = Pair<_Float16>;
using FloatPair = Pair<float>;
using DoublePair = Pair<double>;

template <typename T>
__device__ T multiply_add(T a, T b, T sum) {
  return __builtin_elementwise_fma(a, b, sum);
}
template <typename T>
__device__ T pair_of(float value) {
  return T(value);
}
__device__ float sum_of(HalfPair pair) { return static_cast<float>(pair.x) + static_cast<float>(pair.y); }
template <typename T>
__device__ float sum_of(T pair) {
  return static_cast<float>(pair.x + pair.y);
}
#else
using HalfPair = __half2;
using FloatPair = float2;
using DoublePair = double2;

__device__ HalfPair multiply_add(HalfPair a, HalfPair b, HalfPair sum) { return __hfma2(a, b, sum); }
__device__ FloatPair multiply_add(FloatPair a, FloatPair b, FloatPair sum) {
  return {fmaf(a.x, b.x, sum.x), fmaf(a.y, b.y, sum.y)};
}
__device__ DoublePair multiply_add(DoublePair a, DoublePair b, DoublePair sum) {
  return {fma(a.x, b.x, sum.x), fma(a.y, b.y, sum.y)};
}
template <typename T>
__device__ T pair_of(float value) {
  return {value, value};
}
template <>
__device__ HalfPair pair_of<HalfPair>(float value) {
  return __float2half2_rn(value);
}
__device__ float sum_of(HalfPair pair) { return __low2float(pair) + __high2float(pair); }
template <typename T>
__device__ float sum_of(T pair) {
  return static_cast<float>(pair.x + pair.y);
}
#endif

// The sum is an operand in place, the only form that RDNA issues twice in a clock.
template <typename T>
__global__ void __launch_bounds__(kThreads) multiply_and_add(float* sink, float a, float b) {
  T chains[kChains];
  for (int chain = 0; chain < kChains; ++chain) chains[chain] = pair_of<T>(static_cast<float>(threadIdx.x + chain));
  const T as = pair_of<T>(a * threadIdx.x), bs = pair_of<T>(b);
#pragma unroll 4
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) chains[chain] = multiply_add(as, bs, chains[chain]);
  }
  float sum = 0;
  for (int chain = 0; chain < kChains; ++chain) sum += sum_of(chains[chain]);
  if (sum == 12345.678f) *sink = sum;
}

template <typename T>
void measure(const std::string& dtype, int compute_units, float* sink) {
  const int blocks = 8 * compute_units;
  const double flops = 2.0 * kLanes * kChains * kSteps * kThreads * blocks;
  const Times times = event_times_ms([&] { multiply_and_add<T><<<blocks, kThreads>>>(sink, 0.001f, 0.25f); });
  report(dtype + " vector", "TFLOP/s", flops, times);
}

}  // namespace

void measure_vector_units(const Chip& chip) {
  const DeviceMemory sink(sizeof(float));
  measure<HalfPair>("f16", chip.compute_units, sink.as<float>());
  measure<FloatPair>("f32", chip.compute_units, sink.as<float>());
  measure<DoublePair>("f64", chip.compute_units, sink.as<float>());
}

}  // namespace rocm_perf
