#include "ceilings/memory.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "ceilings/report.h"
#include "gpu/gpu.h"

namespace rocm_perf {

namespace {

constexpr int kThreads = 256;
constexpr int kInFlight = 4;  // loads of a thread before it needs the first of them
constexpr size_t kMostBytes = size_t{2} << 30;
constexpr int kL2Rounds = 8;
constexpr int kLdsReads = 4;  // in a row, at distances that the instruction itself holds
constexpr int kLdsRounds = 1024;
constexpr float kNever = 1e30f;  // no sum of zeros is: what is read must reach a store that may happen

__device__ void add(float4& sum, const float4& more) {
#if defined(__HIP__)
  sum += more;  // two packed instructions
#else
  sum.x += more.x;
  sum.y += more.y;
  sum.z += more.z;
  sum.w += more.w;
#endif
}

__device__ void keep(const float4& sum, float* sink) {
  if (sum.x + sum.y + sum.z + sum.w > kNever) *sink = sum.x;
}

__global__ void __launch_bounds__(kThreads) read_all(const float4* from, float* sink, size_t count) {
  const size_t stride = size_t{gridDim.x} * kThreads;
  float4 sum = {0, 0, 0, 0};
  for (size_t place = size_t{blockIdx.x} * kThreads + threadIdx.x; place < count; place += kInFlight * stride) {
    float4 loaded[kInFlight];
#pragma unroll
    for (int number = 0; number < kInFlight; ++number) {
      const size_t at = place + number * stride;
      loaded[number] = at < count ? from[at] : float4{0, 0, 0, 0};
    }
#pragma unroll
    for (int number = 0; number < kInFlight; ++number) add(sum, loaded[number]);
  }
  keep(sum, sink);
}

__global__ void __launch_bounds__(kThreads) write_all(float4* to, float value, size_t count) {
  const size_t stride = size_t{gridDim.x} * kThreads;
  const float4 four = {value, value, value, value};
  for (size_t place = size_t{blockIdx.x} * kThreads + threadIdx.x; place < count; place += stride) to[place] = four;
}

__global__ void __launch_bounds__(kThreads) copy_all(const float4* from, float4* to, size_t count) {
  const size_t stride = size_t{gridDim.x} * kThreads;
  for (size_t place = size_t{blockIdx.x} * kThreads + threadIdx.x; place < count; place += kInFlight * stride) {
    float4 loaded[kInFlight];
#pragma unroll
    for (int number = 0; number < kInFlight; ++number) {
      const size_t at = place + number * stride;
      if (at < count) loaded[number] = from[at];
    }
#pragma unroll
    for (int number = 0; number < kInFlight; ++number) {
      const size_t at = place + number * stride;
      if (at < count) to[at] = loaded[number];
    }
  }
}

// Past the L1 on NVIDIA; on AMD, what a block reads is far more than an L1 holds.
__device__ float4 load_from_l2(const float4* from) {
#if defined(__HIP__)
  return *from;
#else
  return __ldcg(from);
#endif
}

// Every block reads the whole region, from a place of its own: neighbours do not feed each other's L1.
__global__ void __launch_bounds__(kThreads) read_l2(const float4* from, float* sink, unsigned pieces) {
  float4 sum = {0, 0, 0, 0};
  unsigned piece = blockIdx.x * 2654435761u % pieces;  // Knuth's multiplicative hash
#pragma unroll 4
  for (unsigned done = 0; done < kL2Rounds * pieces; ++done) {
    add(sum, load_from_l2(from + size_t{piece} * kThreads + threadIdx.x));
    piece = piece + 1 == pieces ? 0 : piece + 1;
  }
  keep(sum, sink);
}

__global__ void __launch_bounds__(kThreads) read_lds(float* sink, float value, unsigned step) {
  __shared__ float4 cells[kLdsReads * kThreads];
  for (int row = 0; row < kLdsReads; ++row) cells[row * kThreads + threadIdx.x] = {value, value, value, value};
  __syncthreads();
  float4 sum = {0, 0, 0, 0};
  unsigned place = threadIdx.x;
#pragma unroll 4
  for (int round = 0; round < kLdsRounds; ++round) {
#pragma unroll
    for (int row = 0; row < kLdsReads; ++row) add(sum, cells[row * kThreads + place]);
    place = (place + step) % kThreads;  // the compiler does not know `step`, so it must read again
  }
  keep(sum, sink);
}

// The best of several grids: how many blocks a compute unit needs differs between chips.
void report_best(const char* name, const Chip& chip, double bytes, const std::function<void(int)>& launch) {
  Times best;
  for (int blocks : {4, 8, 16, 32}) {
    const Times times = event_times_ms([&] { launch(blocks * chip.compute_units); });
    if (best.empty() || median(times) < median(best)) best = times;
  }
  report(name, "TB/s", bytes, best);
}

void measure_device_memory(const Chip& chip, float* sink) {
  const size_t bytes = std::min(kMostBytes, chip.memory_bytes / 8) / sizeof(float4) * sizeof(float4);
  const DeviceMemory from(bytes), to(bytes);
  const size_t count = bytes / sizeof(float4);
  report_best("memory read", chip, bytes,
              [&](int blocks) { read_all<<<blocks, kThreads>>>(from.as<float4>(), sink, count); });
  report_best("memory write", chip, bytes,
              [&](int blocks) { write_all<<<blocks, kThreads>>>(to.as<float4>(), 1.0f, count); });
  report_best("memory copy", chip, 2.0 * bytes,
              [&](int blocks) { copy_all<<<blocks, kThreads>>>(from.as<float4>(), to.as<float4>(), count); });
}

void measure_l2(const Chip& chip, float* sink) {
  constexpr size_t kPiece = kThreads * sizeof(float4);
  const unsigned pieces = static_cast<unsigned>(chip.l2_bytes / 4 / kPiece);
  if (pieces < 16) {
    report_absent("L2 read", "the runtime does not say how large the L2 is");
    return;
  }
  const DeviceMemory region(pieces * kPiece);
  const int blocks = 8 * chip.compute_units;
  const Times times = event_times_ms([&] { read_l2<<<blocks, kThreads>>>(region.as<float4>(), sink, pieces); });
  report("L2 read", "TB/s", 1.0 * blocks * kL2Rounds * pieces * kPiece, times);
}

}  // namespace

void measure_memory(const Chip& chip) {
  const DeviceMemory sink(sizeof(float));
  measure_device_memory(chip, sink.as<float>());
  measure_l2(chip, sink.as<float>());
  const int blocks = 8 * chip.compute_units;
  const Times times = event_times_ms([&] { read_lds<<<blocks, kThreads>>>(sink.as<float>(), 0.0f, kThreads); });
  report("LDS read", "TB/s", 1.0 * blocks * kThreads * kLdsReads * kLdsRounds * sizeof(float4), times);
}

}  // namespace rocm_perf
