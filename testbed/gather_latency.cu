// Weighted sums of entries of a table that lie anywhere: every load waits for an index, and the sum is kept in memory.
#include "gpu.h"

extern "C" __global__ void gather(const float* table, const unsigned* indices, const float* weights, float* sums,
                                  int items, int neighbours) {
  int item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= items) return;
  sums[item] = 0.0f;
  for (int k = 0; k < neighbours; ++k) {
    sums[item] += table[indices[k * items + item]] * weights[k];
  }
}

int main(int argc, char** argv) {
  Options options(argc, argv, 16 * 1024, 40);
  const int items = options.size, neighbours = 96, entries = 4 * 1024 * 1024;
  float* table = to_device(random_floats(entries, 9));
  unsigned* indices = to_device(random_integers(static_cast<size_t>(items) * neighbours, entries, 10));
  float* weights = to_device(random_floats(neighbours, 11));
  float* sums = to_device(std::vector<float>(items));
  for (int i = 0; i < options.repetitions; ++i) {
    gather<<<(items + 127) / 128, 128>>>(table, indices, weights, sums, items,
                                         i % 2 == 0 ? neighbours : neighbours / 4);
  }
  gather<<<(items + 127) / 128, 128>>>(table, indices, weights, sums, items, neighbours);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  report("sums", to_host(sums, items), options.out);
  HIP_CHECK(hipFree(table));
  HIP_CHECK(hipFree(indices));
  HIP_CHECK(hipFree(weights));
  HIP_CHECK(hipFree(sums));
  return 0;
}
