// Softmax of scaled rows, as attention needs it: one block per row.
#include "gpu.h"

constexpr int MAX_THREADS = 1024;

__global__ void scaled_softmax(const float* input, float* output, float scale, int width) {
  __shared__ float partial[MAX_THREADS];
  const float* row = input + static_cast<size_t>(blockIdx.x) * width;
  float* result = output + static_cast<size_t>(blockIdx.x) * width;

  float highest = -1e30f;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    highest = fmaxf(highest, row[i] * scale);
  }
  partial[threadIdx.x] = highest;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  highest = partial[0];
  __syncthreads();

  float sum = 0.0f;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    result[i] = expf(row[i] * scale - highest);
    sum += result[i];
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  sum = partial[0];

  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    result[i] /= sum;
  }
}

int main(int argc, char** argv) {
  Options options(argc, argv, 4096, 50);
  const int rows = options.size, width = 1024, threads = 64;
  const size_t count = static_cast<size_t>(rows) * width;
  float* input = to_device(random_floats(count, 1));
  float* output = to_device(std::vector<float>(count));

  hipEvent_t begin, end;
  HIP_CHECK(hipEventCreate(&begin));
  HIP_CHECK(hipEventCreate(&end));
  scaled_softmax<<<rows, threads>>>(input, output, 0.125f, width);  // the first launch loads the code
  HIP_CHECK(hipEventRecord(begin, 0));
  for (int i = 0; i < options.repetitions; ++i) {
    scaled_softmax<<<rows, threads>>>(input, output, 4.0f, width);
  }
  HIP_CHECK(hipEventRecord(end, 0));
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipEventSynchronize(end));
  float milliseconds = 0;
  HIP_CHECK(hipEventElapsedTime(&milliseconds, begin, end));

  report("softmax", to_host(output, count), options.out);
  std::printf("%.4f ms per launch\n", milliseconds / options.repetitions);
  HIP_CHECK(hipEventDestroy(begin));
  HIP_CHECK(hipEventDestroy(end));
  HIP_CHECK(hipFree(input));
  HIP_CHECK(hipFree(output));
  return 0;
}
