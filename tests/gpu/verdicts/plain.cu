// Programs without a framework, each with one limit: plain NAME STEPS, built by nvcc -O2.
// Ten steps to warm up, a pause, then the loop, whose time per step it prints.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Step = std::function<void()>;

constexpr int kSide = 8192;          // of a square matrix
constexpr size_t kCount = 1u << 24;  // numbers in a vector
constexpr size_t kBytes = kCount * sizeof(float);

void check(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
  std::exit(1);
}

__global__ void scale(float* values, size_t count, float factor) {
  const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (at < count) values[at] *= factor;
}

// Neighbouring threads read addresses that lie a row apart.
__global__ void sum_rows(const float* matrix, float* sums) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int column = 0; column < kSide; ++column) sum += matrix[static_cast<size_t>(row) * kSide + column];
  sums[row] = sum;
}

__global__ void count_all(unsigned* counter, int rounds) {
  for (int round = 0; round < rounds; ++round) atomicAdd(counter, 1u);
}

void scaled(float* values, size_t count, cudaStream_t stream = nullptr) {
  scale<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(values, count, 1.0001f);
}

float* on_gpu(size_t bytes) {
  float* values = nullptr;
  check(cudaMalloc(&values, bytes));
  check(cudaMemset(values, 0, bytes));
  return values;
}

void compute_for(std::chrono::microseconds time) {
  for (const auto until = Clock::now() + time; Clock::now() < until;) {
  }
}

Step allocating() {
  return [] {
    float* values = nullptr;
    check(cudaMalloc(&values, kBytes));
    scaled(values, kCount);
    check(cudaFree(values));
  };
}

Step copying() {
  auto host = std::make_shared<std::vector<float>>(kCount);
  float* values = on_gpu(kBytes);
  return [=] {
    check(cudaMemcpy(values, host->data(), kBytes, cudaMemcpyHostToDevice));
    scaled(values, kCount);
    check(cudaMemcpy(host->data(), values, kBytes, cudaMemcpyDeviceToHost));
  };
}

Step waiting() {
  float* values = on_gpu(kBytes);
  return [=] {
    for (int turn = 0; turn < 32; ++turn) {
      scaled(values, kCount / 16);
      check(cudaDeviceSynchronize());
    }
  };
}

Step tiny() {
  float* values = on_gpu(kBytes);
  return [=] {
    for (int turn = 0; turn < 64; ++turn) scaled(values, 1024);
  };
}

Step strided() {
  float *matrix = on_gpu(sizeof(float) * kSide * kSide), *sums = on_gpu(sizeof(float) * kSide);
  return [=] { sum_rows<<<kSide / 256, 256>>>(matrix, sums); };
}

Step counting() {
  auto* counter = reinterpret_cast<unsigned*>(on_gpu(4));
  float* values = on_gpu(kBytes);
  return [=] {
    count_all<<<512, 256>>>(counter, 64);
    scaled(values, kCount);
  };
}

Step thinking() {
  float* values = on_gpu(kBytes);
  return [=] {
    for (int turn = 0; turn < 8; ++turn) scaled(values, kCount);
    check(cudaDeviceSynchronize());
    compute_for(std::chrono::microseconds(2500));
  };
}

// What `copying` should do: pinned memory, three streams, and kernels that take longer than their copies.
Step overlapping() {
  struct Part {
    cudaStream_t stream;
    float *host, *values;
  };
  auto parts = std::make_shared<std::vector<Part>>(3);
  for (auto& part : *parts) {
    check(cudaStreamCreateWithFlags(&part.stream, cudaStreamNonBlocking));
    check(cudaMallocHost(&part.host, kBytes / 16));
    part.values = on_gpu(kBytes);
  }
  auto number = std::make_shared<size_t>(0);
  return [=] {
    auto& part = (*parts)[(*number)++ % parts->size()];
    check(cudaMemcpyAsync(part.values, part.host, kBytes / 16, cudaMemcpyHostToDevice, part.stream));
    for (int turn = 0; turn < 12; ++turn) scaled(part.values, kCount, part.stream);
    check(cudaMemcpyAsync(part.host, part.values, kBytes / 16, cudaMemcpyDeviceToHost, part.stream));
  };
}

const std::map<std::string, std::function<Step()>> kPrograms = {
    {"allocating", allocating}, {"copying", copying},   {"counting", counting}, {"overlapping", overlapping},
    {"strided", strided},       {"thinking", thinking}, {"tiny", tiny},         {"waiting", waiting},
};

}  // namespace

int main(int count, char** words) {
  const auto chosen = count == 3 ? kPrograms.find(words[1]) : kPrograms.end();
  if (chosen == kPrograms.end()) {
    std::fprintf(stderr, "plain NAME STEPS, with one of these names:");
    for (const auto& [name, make] : kPrograms) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const int steps = std::atoi(words[2]);
  const Step step = chosen->second();
  for (int turn = 0; turn < 10; ++turn) step();
  check(cudaDeviceSynchronize());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto begun = Clock::now();
  for (int turn = 0; turn < steps; ++turn) step();
  check(cudaDeviceSynchronize());
  const std::chrono::duration<double, std::micro> took = Clock::now() - begun;
  std::printf("{\"us_per_step\": %.3f}\n", took.count() / steps);
  return 0;
}
