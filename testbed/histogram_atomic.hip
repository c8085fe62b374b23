// How often each value occurs: an atomic addition in the loop, to bins in shared memory.
#include "gpu.h"

constexpr int BINS = 256;

__global__ void histogram(const unsigned* values, unsigned* bins, int count) {
  __shared__ unsigned local[BINS];
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) local[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[values[i]], 1u);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
    if (local[bin] > 0) atomicAdd(&bins[bin], local[bin]);
  }
}

int main(int argc, char** argv) {
  Options options(argc, argv, 8 * 1024 * 1024, 30);
  const int count = options.size;
  unsigned* values = to_device(random_integers(count, BINS, 3));
  unsigned* bins = to_device(std::vector<unsigned>(BINS));
  for (int i = 0; i < options.repetitions; ++i) {
    hipLaunchKernelGGL(histogram, dim3(512), dim3(256), 0, 0, values, bins, count);
  }
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  report("bins", to_host(bins, BINS), options.out);
  HIP_CHECK(hipFree(values));
  HIP_CHECK(hipFree(bins));
  return 0;
}
