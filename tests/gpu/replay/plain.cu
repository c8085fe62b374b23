// What a user would do instead of a snapshot: copy device memory to the host and write it to a file (`plain GIB FILE`);
// and, with `plain GIB`, the same memory under a kernel that can be captured.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void fill(unsigned* words, size_t count) {
  size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; at < count; at += stride) {
    unsigned long long mixed = at * 0x9e3779b97f4a7c15ull;
    words[at] = static_cast<unsigned>(mixed ^ (mixed >> 29));
  }
}

__global__ void touch(unsigned* words) { words[threadIdx.x] += 1; }

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int count, char** words) {
  if (count < 2) return 2;
  size_t bytes = static_cast<size_t>(std::atoi(words[1])) << 30;
  unsigned* device = nullptr;
  if (cudaMalloc(&device, bytes) != cudaSuccess) return 3;
  fill<<<1024, 256>>>(device, bytes / 4);
  if (count == 2) {
    for (int launch = 0; launch < 3; ++launch) touch<<<1, 256>>>(device);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 4;
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return 4;
  void* host = nullptr;
  if (cudaMallocHost(&host, bytes) != cudaSuccess) return 5;  // pinned: the quickest copy, and not counted
  double begun = seconds();
  cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
  double copied = seconds();
  int file = open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (size_t at = 0; at < bytes;) {
    ssize_t done = write(file, static_cast<char*>(host) + at, bytes - at);
    if (done <= 0) return 6;
    at += static_cast<size_t>(done);
  }
  double written = seconds();
  fsync(file);
  close(file);
  std::printf("copy %.3f s, write %.3f s, together %.3f s, on disk after %.3f s\n", copied - begun, written - copied,
              written - begun, seconds() - begun);
  return 0;
}
