// Rows brought to mean 0 and variance 1, each staged in shared memory whose size the launch gives.
#include "gpu.h"

extern __shared__ float staged[];

__device__ float block_sum(float value, float* partial) {
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  float sum = partial[0];
  __syncthreads();
  return sum;
}

__global__ void layer_norm(const float* input, const float* gain, float* output, int width) {
  float* partial = staged + width;
  const size_t first = static_cast<size_t>(blockIdx.x) * width;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    staged[i] = input[first + i];
    sum += staged[i];
  }
  const float mean = block_sum(sum, partial) / width;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    const float off = staged[i] - mean;
    squares += off * off;
  }
  const float scale = rsqrtf(block_sum(squares, partial) / width + 1e-5f);
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    output[first + i] = (staged[i] - mean) * scale * gain[i];
  }
}

int main(int argc, char** argv) {
  Options options(argc, argv, 2048, 40);
  const int rows = options.size, threads = 256;
  const int widths[] = {2048, 768};
  const size_t count = static_cast<size_t>(rows) * widths[0];
  float* input = to_device(random_floats(count, 4));
  float* gain = to_device(random_floats(widths[0], 5));
  float* output = to_device(std::vector<float>(count));
  for (int i = 0; i < options.repetitions; ++i) {
    const int width = widths[i % 2];
    layer_norm<<<rows, threads, (width + threads) * sizeof(float)>>>(input, gain, output, width);
  }
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  report("rows", to_host(output, count), options.out);
  HIP_CHECK(hipFree(input));
  HIP_CHECK(hipFree(gain));
  HIP_CHECK(hipFree(output));
  return 0;
}
