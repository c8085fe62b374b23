// Launches small kernels as fast as the host can, and prints what a launch took, in microseconds.
#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void add_one(float* values) { values[threadIdx.x] += 1; }

int main(int count, char** words) {
  const int launches = count > 1 ? std::atoi(words[1]) : 200000;
  float* values = nullptr;
  cudaMalloc(&values, 4096);
  for (int i = 0; i < 2000; ++i) add_one<<<1, 64>>>(values);
  cudaDeviceSynchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 1; i <= launches; ++i) {
    add_one<<<1, 64>>>(values);
    if (i % 100 == 0) cudaDeviceSynchronize();
  }
  cudaDeviceSynchronize();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf("{\"launches\": %d, \"seconds\": %.6f}\n", launches, taken.count());
}
