// Launches the kernels of known work once each, on inputs of the sizes that emulate.py uses, for ncu to count.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#define WORKGROUP(n) __launch_bounds__(n)
__device__ inline unsigned thread() { return threadIdx.x; }
__device__ inline unsigned group() { return blockIdx.x; }
__device__ inline void barrier() { __syncthreads(); }
#include "../../kernels/known_work.h"

constexpr int kElements = 1 << 20, kWidth = 512, kHeight = 256, kShift = 4, kSide = 16 << kShift, kThreads = 256;

float* filled(int count) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<float>(i % 1021) / 1021;
  float* memory = nullptr;
  if (cudaMalloc(&memory, count * sizeof(float)) != cudaSuccess) return nullptr;
  cudaMemcpy(memory, values.data(), count * sizeof(float), cudaMemcpyHostToDevice);
  return memory;
}

int main() {
  float *a = filled(kElements), *b = filled(kElements), *c = filled(kElements);
  if (!a || !b || !c) return 1;
  saxpy<<<(kElements + kThreads - 1) / kThreads, kThreads>>>(a, b, 2.5f, kElements - 3);
  stencil<<<kWidth * kHeight / kThreads, kThreads>>>(a, c, kHeight);
  block_sum<<<kElements / kThreads, kThreads>>>(a, c);
  matmul<<<kSide * kSide / kThreads, kThreads>>>(a, b, c, kShift);
  cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
