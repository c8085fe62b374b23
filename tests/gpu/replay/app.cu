// Programs whose kernels are captured and replayed, or must not be: `app NAME`. Those that are timed print how long the
// kernel took by CUDA events.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    cudaError_t result = (call);                                           \
    if (result != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result)); \
      std::exit(3);                                                        \
    }                                                                      \
  } while (0)

// In place: a second run on its own output gives something else.
__global__ void softmax_in_place(float* rows, int width) {
  extern __shared__ float partial[];
  float* row = rows + static_cast<size_t>(blockIdx.x) * width;
  float sum = 0;
  for (int at = threadIdx.x; at < width; at += blockDim.x) {
    row[at] = expf(row[at]);
    sum += row[at];
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  for (int at = threadIdx.x; at < width; at += blockDim.x) row[at] /= partial[0];
}

struct Matrix {
  float* values;
  int rows, columns;
  Matrix* next;
};

// Follows pointers that stand in device memory only.
__global__ void scale_chain(Matrix* first, float factor) {
  size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  for (Matrix* one = first; one; one = one->next)
    if (at < static_cast<size_t>(one->rows) * one->columns) one->values[at] = one->values[at] * factor + 1.0f;
}

__device__ float offsets[1024];
__constant__ float coefficients[16];
__device__ unsigned long long launches_so_far;

__global__ void polynomial(const float* in, float* out, int count) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at == 0) launches_so_far += 1;
  if (at >= count) return;
  float value = 0;
  for (int power = 15; power >= 0; --power) value = value * in[at] + coefficients[power];
  out[at] = value + offsets[at % 1024];
}

// Takes no arguments at all.
__global__ void tick() { offsets[threadIdx.x] += 1.0f; }

__global__ void axpy(float* y, const float* x, float factor, int count) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) y[at] += factor * x[at];
}

// Keeps the GPU busy while the next launch is queued: events around it then time the kernel, not the way of its launch.
__global__ void spin(long long cycles) {
  long long end = clock64() + cycles;
  while (clock64() < end) {
  }
}

static std::vector<float> numbers(size_t count, unsigned seed) {
  std::vector<float> out(count);
  for (size_t at = 0; at < count; ++at) {
    seed = seed * 1664525u + 1013904223u;
    out[at] = static_cast<float>(seed >> 8) / 16777216.0f;
  }
  return out;
}

struct Timer {
  cudaEvent_t start, stop;

  Timer() {
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
  }
  cudaStream_t stream = nullptr;
  void begin() {
    spin<<<1, 1, 0, stream>>>(60000);
    CHECK(cudaEventRecord(start, stream));
  }
  void end(const char* what) {
    CHECK(cudaEventRecord(stop, stream));
    CHECK(cudaEventSynchronize(stop));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    std::printf("%s %.0f ns\n", what, milliseconds * 1e6);
  }
};

static void softmax() {
  const int rows = 16384, width = 4096;  // 256 MiB
  float* data = nullptr;
  auto host = numbers(static_cast<size_t>(rows) * width, 1);
  CHECK(cudaMalloc(&data, host.size() * 4));
  CHECK(cudaMemcpy(data, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
  Timer timer;
  for (int step = 0; step < 5; ++step) {
    timer.begin();
    softmax_in_place<<<rows, 256, 256 * 4>>>(data, width);
    timer.end("softmax_in_place");
  }
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(host.data(), data, host.size() * 4, cudaMemcpyDeviceToHost));
  double sum = 0;
  for (int at = 0; at < width; ++at) sum += host[at];
  std::printf("sum of a row %.6f\n", sum);
  if (std::fabs(sum - 1) > 1e-3) std::exit(4);
}

static void structures() {
  std::vector<Matrix> matrices(3);
  Matrix* on_device = nullptr;
  CHECK(cudaMalloc(&on_device, matrices.size() * sizeof(Matrix)));
  for (size_t index = 0; index < matrices.size(); ++index) {
    auto host = numbers(4u << 20, static_cast<unsigned>(index));
    float* values = nullptr;
    CHECK(cudaMalloc(&values, host.size() * 4));
    CHECK(cudaMemcpy(values, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
    matrices[index] = {values, 2048, 2048, index + 1 < matrices.size() ? on_device + index + 1 : nullptr};
  }
  CHECK(cudaMemcpy(on_device, matrices.data(), matrices.size() * sizeof(Matrix), cudaMemcpyHostToDevice));
  Timer timer;
  for (int step = 0; step < 30; ++step) {
    timer.begin();
    scale_chain<<<(4u << 20) / 256, 256>>>(on_device, 0.5f);
    timer.end("scale_chain");
  }
  CHECK(cudaDeviceSynchronize());
}

static void variables() {
  const int count = 8 << 20;
  auto host = numbers(count, 7);
  auto small = numbers(1024, 9);
  float *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, host.size() * 4));
  CHECK(cudaMalloc(&out, host.size() * 4));
  CHECK(cudaMemcpy(in, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(offsets, small.data(), sizeof offsets));
  CHECK(cudaMemcpyToSymbol(coefficients, small.data() + 100, sizeof coefficients));
  Timer timer;
  for (int step = 0; step < 30; ++step) {
    timer.begin();
    polynomial<<<count / 256, 256>>>(in, out, count);
    timer.end("polynomial");
  }
  CHECK(cudaDeviceSynchronize());
}

static void pool() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  const int count = 16 << 20;
  auto host = numbers(count, 3);
  float *x = nullptr, *y = nullptr, *gone = nullptr;
  CHECK(cudaMallocAsync(&gone, 1 << 20, stream));
  CHECK(cudaMallocAsync(&x, host.size() * 4, stream));
  CHECK(cudaMallocAsync(&y, host.size() * 4, stream));
  CHECK(cudaFreeAsync(gone, stream));
  CHECK(cudaMemcpyAsync(x, host.data(), host.size() * 4, cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemsetAsync(y, 0, host.size() * 4, stream));
  Timer timer;
  timer.stream = stream;
  for (int step = 0; step < 30; ++step) {
    timer.begin();
    axpy<<<count / 256, 256, 0, stream>>>(y, x, 2.0f, count);
    timer.end("axpy");
  }
  CHECK(cudaFreeAsync(x, stream));
  CHECK(cudaFreeAsync(y, stream));
  CHECK(cudaStreamSynchronize(stream));
}

// Four threads, each with its stream and its memory, which it allocates and frees all the while.
static void threads() {
  auto work = [](unsigned seed) {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    const int count = 1 << 20;
    auto host = numbers(count, seed);
    for (int round = 0; round < 50; ++round) {
      float *x = nullptr, *y = nullptr;
      CHECK(cudaMallocAsync(&x, count * 4, stream));
      CHECK(cudaMallocAsync(&y, count * 4, stream));
      CHECK(cudaMemcpyAsync(x, host.data(), count * 4, cudaMemcpyHostToDevice, stream));
      CHECK(cudaMemsetAsync(y, 0, count * 4, stream));
      for (int launch = 0; launch < 4; ++launch)
        axpy<<<count / 256, 256, 0, stream>>>(y, x, 1.0f + static_cast<float>(round), count);
      std::vector<float> back(count);
      CHECK(cudaMemcpyAsync(back.data(), y, count * 4, cudaMemcpyDeviceToHost, stream));
      CHECK(cudaStreamSynchronize(stream));
      for (int at = 0; at < count; at += 4099)
        if (std::fabs(back[at] - 4 * (1.0f + static_cast<float>(round)) * host[at]) > 1e-3f) std::exit(4);
      CHECK(cudaFreeAsync(x, stream));
      CHECK(cudaFreeAsync(y, stream));
    }
  };
  std::vector<std::thread> all;
  for (unsigned seed = 0; seed < 4; ++seed) all.emplace_back(work, seed);
  for (std::thread& one : all) one.join();
}

static void arguments() {
  for (int launch = 0; launch < 5; ++launch) tick<<<1, 1024>>>();
  CHECK(cudaDeviceSynchronize());
}

// `y` in device memory, `x` where the caller has put it.
static void axpy_from(float* x) {
  float* y = nullptr;
  const int count = 1 << 20;
  CHECK(cudaMalloc(&y, count * 4));
  CHECK(cudaMemset(y, 0, count * 4));
  axpy<<<count / 256, 256>>>(y, x, 2.0f, count);
  CHECK(cudaDeviceSynchronize());
}

static void managed() {
  float* x = nullptr;
  CHECK(cudaMallocManaged(&x, 4 << 20));
  std::memset(x, 0, 4 << 20);
  axpy_from(x);
}

static void registered() {
  std::vector<float> host(1 << 20);
  float* x = nullptr;
  CHECK(cudaHostRegister(host.data(), host.size() * 4, cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&x), host.data(), 0));
  axpy_from(x);
  CHECK(cudaHostUnregister(host.data()));
}

// The memory belongs to another process.
static void shared() {
  int handles[2], done[2];
  if (pipe(handles) != 0 || pipe(done) != 0) std::exit(3);
  cudaIpcMemHandle_t handle;
  char token = 0;
  if (fork() == 0) {
    float* x = nullptr;
    if (read(handles[0], &handle, sizeof handle) != sizeof handle) _exit(3);
    CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&x), handle, cudaIpcMemLazyEnablePeerAccess));
    axpy_from(x);
    CHECK(cudaIpcCloseMemHandle(x));
    if (write(done[1], &token, 1) != 1) std::exit(3);
    std::exit(0);
  }
  float* x = nullptr;
  CHECK(cudaMalloc(&x, 4 << 20));
  CHECK(cudaIpcGetMemHandle(&handle, x));
  if (write(handles[1], &handle, sizeof handle) != sizeof handle || read(done[0], &token, 1) != 1) std::exit(3);
  wait(nullptr);
}

static void graph() {
  const int count = 1 << 20;
  float *x = nullptr, *y = nullptr;
  CHECK(cudaMalloc(&x, count * 4));
  CHECK(cudaMalloc(&y, count * 4));
  CHECK(cudaMemset(x, 0, count * 4));
  cudaStream_t stream;
  cudaGraph_t recorded;
  cudaGraphExec_t ready;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  axpy<<<count / 256, 256, 0, stream>>>(y, x, 2.0f, count);
  CHECK(cudaStreamEndCapture(stream, &recorded));
  CHECK(cudaGraphInstantiate(&ready, recorded, 0));
  for (int launch = 0; launch < 5; ++launch) CHECK(cudaGraphLaunch(ready, stream));
  CHECK(cudaStreamSynchronize(stream));
}

// Ten thousand launches a second, none of which is wanted: what watching costs.
static void many(int launches) {
  float *x = nullptr, *y = nullptr;
  const int count = 1 << 10;  // small: flat out, the launches themselves take the time
  CHECK(cudaMalloc(&x, count * 4));
  CHECK(cudaMalloc(&y, count * 4));
  CHECK(cudaMemset(x, 0, count * 4));
  CHECK(cudaMemset(y, 0, count * 4));
  timespec begun{}, now{}, next{};
  clock_gettime(CLOCK_MONOTONIC, &begun);
  next = begun;
  for (int launch = 0; launch < launches; ++launch) {
    axpy<<<count / 256, 256>>>(y, x, 2.0f, count);
    if (launch % 100 == 99) {
      CHECK(cudaDeviceSynchronize());
      next.tv_nsec += 10'000'000;  // a hundred launches every ten milliseconds
      next.tv_sec += next.tv_nsec / 1'000'000'000;
      next.tv_nsec %= 1'000'000'000;
      if (!std::getenv("FLAT_OUT")) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
    }
  }
  CHECK(cudaDeviceSynchronize());
  clock_gettime(CLOCK_MONOTONIC, &now);
  double seconds =
      static_cast<double>(now.tv_sec - begun.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - begun.tv_nsec);
  std::printf("%d launches in %.6f s\n", launches, seconds);
}

int main(int count, char** words) {
  std::string which = count > 1 ? words[1] : "";
  if (which == "softmax")
    softmax();
  else if (which == "structures")
    structures();
  else if (which == "variables")
    variables();
  else if (which == "pool")
    pool();
  else if (which == "threads")
    threads();
  else if (which == "arguments")
    arguments();
  else if (which == "managed")
    managed();
  else if (which == "registered")
    registered();
  else if (which == "shared")
    shared();
  else if (which == "graph")
    graph();
  else if (which == "many")
    many(count > 2 ? std::atoi(words[2]) : 20000);
  else {
    std::fprintf(stderr,
                 "usage: app softmax|structures|variables|pool|threads|arguments|managed|registered|shared|graph|many "
                 "[LAUNCHES]\n");
    return 2;
  }
  return 0;
}
