#include "ceilings/matrix_units.h"

#include <string>

#include "ceilings/arithmetic.h"
#include "ceilings/report.h"

namespace rocm_perf {

#if defined(__HIP__)

namespace {

constexpr int kThreads = 256;
constexpr int kChains = 4;  // independent sums, so that one does not wait for another
constexpr int kSteps = 2048;

template <typename Operand>
__device__ Operand operand_of(int seed) {
  Operand operand;
  char* bytes = reinterpret_cast<char*>(&operand);
  for (unsigned place = 0; place < sizeof(Operand); ++place) bytes[place] = static_cast<char>(seed);
  return operand;
}

// Writes how many operations one wave computes in a step: the host does not know the chip's instructions.
template <typename Unit>
__global__ void __launch_bounds__(kThreads) multiply_matrices(float* sink, int* operations, int seed) {
  if (threadIdx.x == 0 && blockIdx.x == 0) *operations = kChains * Unit::kOperations;
  if constexpr (Unit::kOperations > 0) {
    const auto a = operand_of<typename Unit::Operand>(seed);
    const auto b = operand_of<typename Unit::Operand>(seed);
    typename Unit::Sum sums[kChains] = {};
#pragma unroll 2
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) sums[chain] = Unit::multiply(a, b, sums[chain]);
    }
    float total = 0;
    for (int chain = 0; chain < kChains; ++chain) total += static_cast<float>(sums[chain][0] + sums[chain][1]);
    if (total == 12345.678f) *sink = total;
  }
}

struct Launcher {
  Chip chip;
  float* sink;
  int* operations;

  template <typename Unit>
  void measure(const std::string& dtype, const std::string& unit) const {
    const int blocks = 8 * chip.compute_units;
    const auto launch = [&] { multiply_matrices<Unit><<<blocks, kThreads>>>(sink, operations, 0x2c); };
    launch();
    int per_wave = 0;
    check(gpu(Memcpy)(&per_wave, operations, sizeof per_wave, gpu(MemcpyDeviceToHost)), "multiplying matrices");
    if (per_wave == 0) return;
    const double amount = 1.0 * per_wave * kSteps * blocks * kThreads / chip.wave_size;
    report(dtype + " matrix", unit, amount, event_times_ms(launch));
  }
};

}  // namespace

void measure_matrix_units(const Chip& chip) {
  const DeviceMemory sink(sizeof(float)), operations(sizeof(int));
  const Launcher launcher{chip, sink.as<float>(), operations.as<int>()};
  launcher.measure<F16Unit>("f16", "TFLOP/s");
  launcher.measure<Bf16Unit>("bf16", "TFLOP/s");
  launcher.measure<F8Unit>("f8", "TFLOP/s");
  launcher.measure<I8Unit>("i8", "TOP/s");
  launcher.measure<Xf32Unit>("xf32", "TFLOP/s");
  launcher.measure<F32Unit>("f32", "TFLOP/s");
  launcher.measure<F64Unit>("f64", "TFLOP/s");
}

#else

void measure_matrix_units(const Chip&) {
}  // the fastest instructions of a tensor core are left to cuBLAS, through torch

#endif

}  // namespace rocm_perf
