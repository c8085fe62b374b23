// A matrix of any type, transposed through a tile in shared memory.
#include "gpu.h"

constexpr int TILE = 32, ROWS = 8;

template <typename T>
__global__ void transpose(const T* input, T* output, int width, int height) {
  __shared__ T tile[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) {
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = input[(y + j) * width + x];
  }
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) {
    if (x < height && y + j < width) output[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
  }
}

template <typename T>
void transposed(const T* input, T* output, int width, int height) {
  dim3 blocks((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
  transpose<T><<<blocks, dim3(TILE, ROWS)>>>(input, output, width, height);
}

int main(int argc, char** argv) {
  Options options(argc, argv, 1984, 40);
  const int size = options.size;
  const size_t count = static_cast<size_t>(size) * size;
  float* numbers = to_device(random_floats(count, 6));
  float* turned = to_device(std::vector<float>(count));
  for (int i = 0; i < options.repetitions; ++i) {
    transposed(numbers, turned, size, i % 2 == 0 ? size / 2 : size);
  }
  unsigned* integers = to_device(random_integers(count / 4, 1000, 7));
  unsigned* turned_integers = to_device(std::vector<unsigned>(count / 4));
  transposed(integers, turned_integers, size / 2, size / 2);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  report("numbers", to_host(turned, count), options.out);
  report("integers", to_host(turned_integers, count / 4), nullptr);
  HIP_CHECK(hipFree(numbers));
  HIP_CHECK(hipFree(turned));
  HIP_CHECK(hipFree(integers));
  HIP_CHECK(hipFree(turned_integers));
  return 0;
}
