// Sums of an array, one per block: every step of the loop over the block's partial sums ends at a barrier.
#include "gpu.h"

constexpr int THREADS = 256;

__global__ void block_sums(const float* values, float* sums, int count) {
  __shared__ float partial[THREADS];
  float sum = 0.0f;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
    sum += values[i] * values[i];
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int stride = 1; stride < THREADS; stride *= 2) {
    int left = 2 * stride * threadIdx.x;
    if (left + stride < THREADS) partial[left] += partial[left + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

int main(int argc, char** argv) {
  Options options(argc, argv, 16 * 1024 * 1024, 30);
  const int count = options.size, blocks = 1024;
  float* values = to_device(random_floats(count, 2));
  float* sums = to_device(std::vector<float>(blocks));
  for (int i = 0; i < options.repetitions; ++i) {
    block_sums<<<blocks, THREADS>>>(values, sums, i % 2 == 0 ? count : count / 3);  // of all values, or of some
  }
  block_sums<<<blocks, THREADS>>>(values, sums, count);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  report("sums", to_host(sums, blocks), options.out);
  HIP_CHECK(hipFree(values));
  HIP_CHECK(hipFree(sums));
  return 0;
}
