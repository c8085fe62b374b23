// A softmax over rows whose operations can be counted in its source: every exponential is one instruction of the
// special function unit, which is no FLOP. Rows are many, so that what stays in the L2 at the end is small beside what
// is written. Usage: softmax_exact [ROWS]; it prints rows, width, and the operations and bytes that its kernel must
// show.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

constexpr int kThreads = 256, kWidth = 4096;
constexpr float kLog2e = 1.44269504f;

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float inverse_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__global__ void softmax_exact(const float* in, float* out) {
  __shared__ float part[kThreads];
  const float* row = in + (size_t)blockIdx.x * kWidth;
  float* result = out + (size_t)blockIdx.x * kWidth;
  float high = -1e30f;
  for (int i = threadIdx.x; i < kWidth; i += kThreads) high = fmaxf(high, row[i]);
  part[threadIdx.x] = high;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
    __syncthreads();
  }
  const float shift = -part[0] * kLog2e;  // a multiplication a thread
  __syncthreads();
  float sum = 0.f;
  for (int i = threadIdx.x; i < kWidth; i += kThreads)
    sum += exp2_approx(fmaf(row[i], kLog2e, shift));  // an FMA and an addition an element
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];  // 255 additions a row
    __syncthreads();
  }
  const float inverse = inverse_approx(part[0]);
  for (int i = threadIdx.x; i < kWidth; i += kThreads)
    result[i] = exp2_approx(fmaf(row[i], kLog2e, shift)) * inverse;  // an FMA and a multiplication an element
}

int main(int count, char** words) {
  const size_t rows = count > 1 ? std::strtoull(words[1], nullptr, 10) : 262144, n = rows * kWidth;
  float *in, *out;
  if (cudaMalloc(&in, n * sizeof(float)) != cudaSuccess || cudaMalloc(&out, n * sizeof(float)) != cudaSuccess) return 1;
  cudaMemset(in, 0, n * sizeof(float));
  softmax_exact<<<rows, kThreads>>>(in, out);
  float first = 0;
  cudaMemcpy(&first, out, sizeof first, cudaMemcpyDeviceToHost);
  const bool right = first > 0.999f / kWidth && first < 1.001f / kWidth;
  std::printf(
      "{\"rows\": %zu, \"width\": %d, \"flops\": %zu, \"read_bytes\": %zu, \"written_bytes\": %zu, \"right\": %s}\n",
      rows, kWidth, rows * (6 * kWidth + kThreads - 1 + kThreads), n * sizeof(float), n * sizeof(float),
      right ? "true" : "false");
  return !right;
}
