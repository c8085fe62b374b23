// A softmax over rows and a vector addition, for recording with ncu: their bytes and operations are known.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

template <int THREADS>
__global__ void softmax_rows(const float* in, float* out, int width) {
  __shared__ float part[THREADS];
  const float* row = in + (size_t)blockIdx.x * width;
  float high = -1e30f, sum = 0.f;
  for (int i = threadIdx.x; i < width; i += THREADS) high = fmaxf(high, row[i]);
  part[threadIdx.x] = high;
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
    __syncthreads();
  }
  high = part[0];
  __syncthreads();
  for (int i = threadIdx.x; i < width; i += THREADS) sum += expf(row[i] - high);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < width; i += THREADS)
    out[(size_t)blockIdx.x * width + i] = expf(row[i] - high) / part[0];
}

int main() {
  const int rows = 4096, width = 4096, n = rows * width;
  float *a, *b, *c;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMalloc(&c, n * sizeof(float));
  cudaMemset(a, 0, n * sizeof(float));
  cudaMemset(b, 0, n * sizeof(float));
  vector_add<<<n / 256, 256>>>(a, b, c, n);
  softmax_rows<256><<<rows, 256>>>(a, c, width);
  cudaError_t error = cudaDeviceSynchronize();
  printf("done: %s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
