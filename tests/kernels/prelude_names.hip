// What our stand-in for HIP's headers declares (optimize/builds/prelude), as kernels and programs use it.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

template <typename T>
__global__ void __launch_bounds__(256, 2) names(T* x, unsigned* counts, double* wide, int n) {
  extern __shared__ float scratch[];
  T value = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down(value, offset);
  value += __shfl_xor(value, 1) + __shfl_up(value, 2) + __shfl_sync(~0ull, value, 0, 16);
  if (__ballot(value > 0) && __any(value > 1)) value = fmaxf(value, std::max(1.0f, value));
  scratch[threadIdx.x] = value;
  __syncthreads();
  atomicAdd(&x[0], scratch[threadIdx.x ^ 1]);
  atomicAdd(&counts[1], 1);
  atomicMax(counts, 3u);
  atomicCAS(counts + 2, 0u, 1u);
  wide[0] = sqrt(wide[1]) + fma(wide[1], wide[2], wide[3]);
  x[1] = tanhf(value) + powf(value, 2.0f) + rsqrtf(value) + logf(value) + fabs(value) + min(n, 3) + __popc(n);
  float4 four = reinterpret_cast<float4*>(x)[gridDim.x];
  x[2] = four.x + four.w + __ldg(x + 5) + __expf(value) + __float_as_int(value);
  __threadfence();
}

int main() {
  hipDeviceProp_t properties;
  if (hipGetDeviceProperties(&properties, 0) != hipSuccess) return 1;
  std::printf("%s %d %d\n", properties.name, properties.warpSize, static_cast<int>(warpSize));
  float* x;
  unsigned* counts;
  double* wide;
  hipMalloc(&x, 4096);
  hipMalloc(reinterpret_cast<void**>(&counts), 4096);
  hipMallocManaged(&wide, 4096);
  hipLaunchKernelGGL(names<float>, dim3(1), dim3(64), 256, 0, x, counts, wide, 3);
  names<<<1, 64, 256, nullptr>>>(x, counts, wide, 3);
  hipMemcpy(x, counts, 4, hipMemcpyDeviceToDevice);
  return static_cast<int>(std::sqrt(2.0) + std::exp(1.0) + std::pow(2.0, 3.0)) + std::max(1, 2);
}
