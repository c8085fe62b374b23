// Runs the cases: `limits list`, `limits time [NAME ...]`, `limits once [NAME ...]`.
//
// `time` launches each kernel and its repaired form in turns and prints one JSON object for each case: median times,
// the gain of the repair, and whether both gave the same result. `once` launches each once, to be recorded.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "case.h"

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

namespace {

constexpr int kLaps = 9;

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "limits: %s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

__global__ void fill(float* to, std::uint32_t seed) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  to[i] = random01(static_cast<std::uint32_t>(i) + seed);
}
__global__ void fill_index(std::uint32_t* to) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  to[i] = hashed(static_cast<std::uint32_t>(i));
}

Buffers allocated() {
  Buffers made{};
  check(cudaMalloc(&made.a, (kElements + 1024) * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&made.b, (kElements + 1024) * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&made.out, (kElements + 1024) * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&made.index, kIndices * sizeof(std::uint32_t)), "cudaMalloc");
  check(cudaHostAlloc(&made.host, kHostElements * sizeof(float), cudaHostAllocMapped), "cudaHostAlloc");
  for (std::size_t i = 0; i < kHostElements; ++i) made.host[i] = random01(static_cast<std::uint32_t>(i));
  return made;
}

void prepare(const Case& one, const Buffers& buffers) {
  fill<<<kElements / 256, 256>>>(buffers.a, 1);
  fill<<<kElements / 256, 256>>>(buffers.b, 2);
  fill_index<<<kIndices / 256, 256>>>(buffers.index);
  check(cudaMemset(buffers.out, 0, kElements * sizeof(float)), "cudaMemset");
  if (one.prepare) one.prepare(buffers);
  check(cudaDeviceSynchronize(), one.name.c_str());
}

float timed_ms(Launch launch, const Buffers& buffers) {
  static cudaEvent_t begin, end;
  static const bool made = (cudaEventCreate(&begin), cudaEventCreate(&end), true);
  static_cast<void>(made);
  check(cudaEventRecord(begin), "cudaEventRecord");
  launch(buffers);
  check(cudaEventRecord(end), "cudaEventRecord");
  check(cudaEventSynchronize(end), "cudaEventSynchronize");
  float took = 0;
  check(cudaEventElapsedTime(&took, begin, end), "cudaEventElapsedTime");
  return took;
}

std::vector<float> result_of(Launch launch, const Case& one, const Buffers& buffers) {
  std::vector<float> got(std::min(one.compared, std::size_t{1} << 24));
  launch(buffers);
  check(cudaMemcpy(got.data(), buffers.out, got.size() * sizeof(float), cudaMemcpyDeviceToHost), one.name.c_str());
  return got;
}

bool are_same(const Case& one, const Buffers& buffers) {
  const std::vector<float> slow = result_of(one.slow, one, buffers), mended = result_of(one.mended, one, buffers);
  std::size_t other = 0;
  for (std::size_t i = 0; i < slow.size(); ++i) {
    const float scale = std::max(std::fabs(slow[i]), 1.0f);
    if (!(std::fabs(slow[i] - mended[i]) <= one.tolerance * scale) && std::memcmp(&slow[i], &mended[i], 4)) ++other;
  }
  if (other) std::fprintf(stderr, "limits: %s: %zu of %zu differ\n", one.name.c_str(), other, slow.size());
  return !other;
}

float median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print_times(const Case& one, const Buffers& buffers) {
  std::vector<float> slow, mended;
  for (int lap = 0; lap < kLaps; ++lap) {
    slow.push_back(timed_ms(one.slow, buffers));
    if (one.mended) mended.push_back(timed_ms(one.mended, buffers));
  }
  const float base = median(slow), repaired = one.mended ? median(mended) : base;
  const char* same = !one.mended || !one.compared ? "null" : are_same(one, buffers) ? "true" : "false";
  std::printf("{\"name\": \"%s\", \"limit\": \"%s\", \"ms\": %.6f, \"mended_ms\": %s, \"gain\": %.4f, \"same\": %s}\n",
              one.name.c_str(), one.limit.c_str(), base, one.mended ? std::to_string(repaired).c_str() : "null",
              base / repaired, same);
  std::fflush(stdout);
}

bool is_chosen(const Case& one, int count, char** names) {
  return !count || std::any_of(names, names + count, [&](const char* name) { return one.name == name; });
}

}  // namespace

int main(int count, char** arguments) {
  const std::string verb = count > 1 ? arguments[1] : "";
  if (verb == "list") {
    for (const Case& one : cases()) std::printf("%s\t%s\n", one.name.c_str(), one.limit.c_str());
    return 0;
  }
  if (verb != "time" && verb != "once") {
    std::fprintf(stderr, "usage: limits list | time [NAME ...] | once [NAME ...]\n");
    return 2;
  }
  const Buffers buffers = allocated();
  for (const Case& one : cases()) {
    if (!is_chosen(one, count - 2, arguments + 2)) continue;
    prepare(one, buffers);
    if (verb == "time") {
      print_times(one, buffers);
    } else {
      one.slow(buffers);
      if (one.mended) one.mended(buffers);
    }
    check(cudaDeviceSynchronize(), one.name.c_str());
  }
  return 0;
}
