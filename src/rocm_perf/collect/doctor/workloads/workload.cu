// The smallest program that has something of everything: allocations, copies both ways, a few kernels, a check.
// For hipcc (-x hip) and nvcc alike.
#include <cstdio>
#include <vector>

#if defined(__HIP__) || defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
#else
#include <cuda_runtime.h>
#define GPU(name) cuda##name
#endif

#define CHECK(call)                                                      \
  if (auto error = (call); error != GPU(Success)) {                      \
    std::fprintf(stderr, "%s: %s\n", #call, GPU(GetErrorString)(error)); \
    return 1;                                                            \
  }

__global__ void rocm_perf_probe(float* values, int count, int rounds) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count)
    for (int round = 0; round < rounds; ++round) values[at] = values[at] * 0.5f + 1.0f;
}

int main() {
  const int count = 1 << 20, launches = 8, rounds = 2000;  // long enough for a sampler to see them
  std::vector<float> host(count, 2.0f);                    // 2 is where x/2 + 1 stays
  float* device = nullptr;
  CHECK(GPU(Malloc)(&device, count * sizeof(float)));
  CHECK(GPU(Memcpy)(device, host.data(), count * sizeof(float), GPU(MemcpyHostToDevice)));
  for (int launch = 0; launch < launches; ++launch)
    rocm_perf_probe<<<(count + 255) / 256, 256>>>(device, count, rounds);
  CHECK(GPU(GetLastError)());
  CHECK(GPU(DeviceSynchronize)());
  CHECK(GPU(Memcpy)(host.data(), device, count * sizeof(float), GPU(MemcpyDeviceToHost)));
  CHECK(GPU(Free)(device));
  for (float value : host)
    if (value != 2.0f) {
      std::fprintf(stderr, "the GPU computed %g instead of 2\n", value);
      return 1;
    }
  return 0;
}
