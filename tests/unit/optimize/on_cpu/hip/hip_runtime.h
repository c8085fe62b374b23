// HIP on the threads of a CPU, as far as the testbed needs it: one block after the other, a thread for each of its
// threads. Slow, and right: what the programs compute can be checked where there is no GPU.
#pragma once

#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define __global__ inline
#define __device__
#define __shared__ static
#define __launch_bounds__(...)

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

struct Config {
  dim3 grid, block;
  Config(dim3 grid, dim3 block, size_t = 0, int = 0) : grid(grid), block(block) {}
};

inline thread_local dim3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;
inline std::barrier<>* block_barrier = nullptr;

inline void __syncthreads() { block_barrier->arrive_and_wait(); }
inline unsigned atomicAdd(unsigned* sum, unsigned value) { return std::atomic_ref<unsigned>(*sum).fetch_add(value); }
inline float rsqrtf(float value) { return 1.0f / std::sqrt(value); }

template <typename... Parameters, typename... Arguments>
void launched(Config config, void (*kernel)(Parameters...), Arguments... arguments) {
  gridDim = config.grid;
  blockDim = config.block;
  const unsigned count = blockDim.x * blockDim.y;
  std::barrier<> within(count), between(count);
  block_barrier = &within;
  auto one = [&](unsigned number) {
    threadIdx = dim3(number % blockDim.x, number / blockDim.x, 0);
    for (unsigned block = 0; block < gridDim.x * gridDim.y; ++block) {
      blockIdx = dim3(block % gridDim.x, block / gridDim.x, 0);
      kernel(arguments...);
      between.arrive_and_wait();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < count; ++number) threads.emplace_back(one, number);
  for (std::thread& thread : threads) thread.join();
}

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  launched(Config(grid, block, shared, stream), kernel, __VA_ARGS__)

using hipError_t = int;
using hipEvent_t = void*;
enum { hipSuccess, hipMemcpyHostToDevice, hipMemcpyDeviceToHost };

inline hipError_t hipMalloc(void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return hipSuccess;
}
inline hipError_t hipFree(void* memory) {
  std::free(memory);
  return hipSuccess;
}
inline hipError_t hipMemcpy(void* to, const void* from, size_t bytes, int) {
  std::memcpy(to, from, bytes);
  return hipSuccess;
}
inline const char* hipGetErrorString(hipError_t) { return ""; }
inline hipError_t hipGetLastError() { return hipSuccess; }
inline hipError_t hipDeviceSynchronize() { return hipSuccess; }
inline hipError_t hipEventCreate(hipEvent_t*) { return hipSuccess; }
inline hipError_t hipEventRecord(hipEvent_t, int) { return hipSuccess; }
inline hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
inline hipError_t hipEventDestroy(hipEvent_t) { return hipSuccess; }
inline hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t, hipEvent_t) {
  *milliseconds = 1.0f;
  return hipSuccess;
}
