// What the programs of the testbed share: they are written in HIP, which CUDA spells otherwise; errors, inputs,
// results.
#pragma once

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <cuda_runtime.h>
#define hipError_t cudaError_t
#define hipSuccess cudaSuccess
#define hipGetErrorString cudaGetErrorString
#define hipGetLastError cudaGetLastError
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemset cudaMemset
#define hipMemcpy cudaMemcpy
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipStream_t cudaStream_t
#define hipStreamNonBlocking cudaStreamNonBlocking
#define hipStreamCreateWithFlags cudaStreamCreateWithFlags
#define hipStreamDestroy cudaStreamDestroy
#define hipEvent_t cudaEvent_t
#define hipEventCreate cudaEventCreate
#define hipEventRecord cudaEventRecord
#define hipEventSynchronize cudaEventSynchronize
#define hipEventElapsedTime cudaEventElapsedTime
#define hipEventDestroy cudaEventDestroy
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define HIP_CHECK(call)                                                                              \
  do {                                                                                               \
    hipError_t status = (call);                                                                      \
    if (status != hipSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status)); \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (0)

// PROGRAM [SIZE [REPETITIONS]] [--out FILE]
struct Options {
  int size, repetitions;
  const char* out = nullptr;

  Options(int count, char** words, int default_size, int default_repetitions)
      : size(default_size), repetitions(default_repetitions) {
    int* numbers[] = {&size, &repetitions};
    int given = 0;
    for (int i = 1; i < count; ++i) {
      if (std::strcmp(words[i], "--out") == 0 && i + 1 < count) {
        out = words[++i];
      } else if (given < 2 && std::atoi(words[i]) > 0) {
        *numbers[given++] = std::atoi(words[i]);
      } else {
        std::fprintf(stderr, "usage: %s [SIZE [REPETITIONS]] [--out FILE]\n", words[0]);
        std::exit(2);
      }
    }
  }
};

// The same numbers in every run, whatever the machine.
inline unsigned mixed(unsigned value) {
  value = (value ^ (value >> 16)) * 0x7feb352du;
  value = (value ^ (value >> 15)) * 0x846ca68bu;
  return value ^ (value >> 16);
}

inline std::vector<float> random_floats(size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(mixed(static_cast<unsigned>(i) + seed * 0x9e3779b9u) >> 8) / 8388608.0f - 1.0f;
  }
  return values;
}

inline std::vector<unsigned> random_integers(size_t count, unsigned below, unsigned seed) {
  std::vector<unsigned> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = mixed(static_cast<unsigned>(i) + seed * 0x9e3779b9u) % below;
  return values;
}

template <typename T>
T* to_device(const std::vector<T>& values) {
  T* memory = nullptr;
  HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&memory), values.size() * sizeof(T)));
  HIP_CHECK(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return memory;
}

template <typename T>
std::vector<T> to_host(const T* memory, size_t count) {
  std::vector<T> values(count);
  HIP_CHECK(hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost));
  return values;
}

// Prints a sum in which every position weighs otherwise, and writes the values where that was asked for.
template <typename T>
void report(const char* what, const std::vector<T>& values, const char* out) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += static_cast<double>(values[i]) * (1 + i % 101);
  std::printf("%s: %zu values, checksum %.12g\n", what, values.size(), sum);
  if (out == nullptr) return;
  std::FILE* file = std::fopen(out, "wb");
  if (file == nullptr || std::fwrite(values.data(), sizeof(T), values.size(), file) != values.size() ||
      std::fclose(file) != 0) {
    std::fprintf(stderr, "cannot write %s\n", out);
    std::exit(1);
  }
}
