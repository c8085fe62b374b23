// A CUDA program whose trace is known: two streams that wait for each other, copies, allocations, NVTX ranges, and a
// number of launches by name. It prints what it did as JSON. Usage: cuda_app [TINY_LAUNCHES [LAUNCHES_A_SECOND]]
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                       \
  do {                                                                    \
    cudaError_t error = (call);                                           \
    if (error != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

__global__ void tiny_kernel(float* data) { data[threadIdx.x] += 1.f; }

__global__ void long_kernel(float* data, int rounds) {
  float value = data[blockIdx.x * blockDim.x + threadIdx.x];
  for (int i = 0; i < rounds; ++i) value = value * 0.999f + 0.001f;
  data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void dependent_kernel(const float* data, float* sum) {
  if (threadIdx.x == 0) *sum = data[0] + data[1];
}

namespace {

constexpr int kLong = 20, kDependent = 10, kBlocks = 1056, kThreads = 256;
constexpr size_t kBytes = 16 << 20;

double seconds() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

// Long kernels one after the other, each between two events: what CUDA itself measures.
double long_kernels(float* data, cudaStream_t stream) {
  std::vector<cudaEvent_t> starts(kLong), ends(kLong);
  for (int i = 0; i < kLong; ++i) {
    CHECK(cudaEventCreate(&starts[i]));
    CHECK(cudaEventCreate(&ends[i]));
  }
  for (int i = 0; i < kLong; ++i) {
    CHECK(cudaEventRecord(starts[i], stream));
    long_kernel<<<kBlocks, kThreads, 0, stream>>>(data, 500000);
    CHECK(cudaEventRecord(ends[i], stream));
  }
  CHECK(cudaStreamSynchronize(stream));
  double total = 0;
  for (int i = 0; i < kLong; ++i) {
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, starts[i], ends[i]));
    total += milliseconds;
  }
  return total;
}

double tiny_kernels(float* data, int launches, double rate) {
  const double start = seconds();
  for (int i = 0; i < launches; ++i) {
    while (seconds() < start + i / rate) {
    }
    tiny_kernel<<<1, 32>>>(data);
  }
  CHECK(cudaDeviceSynchronize());
  return seconds() - start;
}

void dependent_kernels(float* data, float* sum, cudaStream_t first, cudaStream_t second) {
  cudaEvent_t ready;
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  for (int i = 0; i < kDependent; ++i) {
    nvtxRangePushA("dependent step");
    long_kernel<<<kBlocks, kThreads, 0, first>>>(data, 20000);
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaStreamWaitEvent(second, ready, 0));
    dependent_kernel<<<1, 32, 0, second>>>(data, sum);
    CHECK(cudaStreamSynchronize(second));
    nvtxRangePop();
  }
}

}  // namespace

int main(int count, char** words) {
  const int tiny = count > 1 ? std::atoi(words[1]) : 10000;
  const double rate = count > 2 ? std::atof(words[2]) : 10000;
  cudaStream_t first, second;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  float *data, *sum, *pinned;
  CHECK(cudaMalloc(&data, kBytes));
  CHECK(cudaMalloc(&sum, 256));
  CHECK(cudaMallocHost(&pinned, kBytes));
  CHECK(cudaMemset(data, 0, kBytes));
  for (int i = 0; i < 3; ++i) CHECK(cudaMemcpyAsync(data, pinned, kBytes, cudaMemcpyHostToDevice, first));
  CHECK(cudaStreamSynchronize(first));

  nvtxRangePushA("long kernels");
  const double long_ms = long_kernels(data, first);
  nvtxRangePop();
  dependent_kernels(data, sum, first, second);
  nvtxMarkA("before the tiny kernels");
  const double tiny_s = tiny_kernels(data, tiny, rate);

  std::vector<float> back(kBytes / sizeof(float));
  for (int i = 0; i < 2; ++i) CHECK(cudaMemcpy(back.data(), data, kBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(data));
  CHECK(cudaFree(sum));
  std::printf(
      "{\"long_kernel\": %d, \"dependent_kernel\": %d, \"tiny_kernel\": %d, \"long_ms\": %.6f, \"tiny_s\": %.6f, "
      "\"h2d\": 3, \"d2h\": 2, \"memset\": 1, \"copy_bytes\": %zu, \"allocated_bytes\": %zu, \"dependent_steps\": "
      "%d}\n",
      kLong + kDependent, kDependent, tiny, long_ms, tiny_s, kBytes, kBytes + 256, kDependent);
  return 0;
}
