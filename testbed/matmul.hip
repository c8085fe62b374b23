// A product of two matrices through tiles in shared memory: each thread has eight elements of a column.
#include "gpu.h"

constexpr int TILE = 32, EACH = 8;

__global__ void __launch_bounds__(128)
    matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y * EACH;
  const int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
  float sums[EACH] = {};
  for (int tile = 0; tile < n; tile += TILE) {
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
      tile_a[y + j][x] = a[(row + j) * n + tile + x];
      tile_b[y + j][x] = b[(tile + y + j) * n + column];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k) {
      const float factor = tile_b[k][x];
#pragma unroll
      for (int j = 0; j < EACH; ++j) sums[j] += tile_a[y + j][k] * factor;
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < EACH; ++j) c[(row + j) * n + column] = sums[j];
}

int main(int argc, char** argv) {
  Options options(argc, argv, 1024, 20);
  const int n = (options.size + TILE - 1) / TILE * TILE;
  const size_t count = static_cast<size_t>(n) * n;
  float* a = to_device(random_floats(count, 12));
  float* b = to_device(random_floats(count, 13));
  float* c = to_device(std::vector<float>(count));

  hipEvent_t begin, end;
  HIP_CHECK(hipEventCreate(&begin));
  HIP_CHECK(hipEventCreate(&end));
  matmul<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE / EACH)>>>(a, b, c, n);
  HIP_CHECK(hipEventRecord(begin, 0));
  for (int i = 0; i < options.repetitions; ++i) {
    matmul<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE / EACH)>>>(a, b, c, n);
  }
  HIP_CHECK(hipEventRecord(end, 0));
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipEventSynchronize(end));
  float milliseconds = 0;
  HIP_CHECK(hipEventElapsedTime(&milliseconds, begin, end));

  report("product", to_host(c, count), options.out);
  std::printf("%.0f GFLOP/s\n", 2e-6 * n * n * n * options.repetitions / milliseconds);
  HIP_CHECK(hipEventDestroy(begin));
  HIP_CHECK(hipEventDestroy(end));
  HIP_CHECK(hipFree(a));
  HIP_CHECK(hipFree(b));
  HIP_CHECK(hipFree(c));
  return 0;
}
