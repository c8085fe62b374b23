// Loops of launches, and CUPTI's switches beside them, for residue.py.
#include <cuda_runtime.h>
#include <cupti.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "cupti/calls.h"

extern "C" {
CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId, std::uint8_t);
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId, std::uint8_t);
}

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr int kKernelsOfGraph = 100;

cudaStream_t stream = nullptr;
cudaGraph_t captured = nullptr;
cudaGraphExec_t graph = nullptr;
float* values = nullptr;
CUpti_SubscriberHandle subscriber = nullptr;
std::atomic<long> calls_recorded{0};

__global__ void add_one(float* numbers) { numbers[threadIdx.x] += 1; }

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(16, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    calls_recorded += record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
  std::free(buffer);
}

void CUPTIAPI called(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

template <typename Launch>
double microseconds(int launches, Launch launch) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 1; i <= launches; ++i) {
    launch();
    if (i % 100 == 0) cudaStreamSynchronize(stream);
  }
  cudaStreamSynchronize(stream);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / launches;
}

// Until each has run, so that what the host does for it shows.
double microseconds_of(cudaGraphExec_t graph, int launches) {
  return microseconds(launches, [graph] {
    cudaGraphLaunch(graph, stream);
    cudaStreamSynchronize(stream);
  });
}

}  // namespace

extern "C" {

void prepare() {
  cudaStreamCreate(&stream);
  cudaMalloc(&values, 4096);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < kKernelsOfGraph; ++i) add_one<<<1, 64, 0, stream>>>(values);
  cudaStreamEndCapture(stream, &captured);
  cudaGraphInstantiate(&graph, captured, 0);
}

double plain(int launches) {
  return microseconds(launches, [] { add_one<<<1, 64, 0, stream>>>(values); });
}

double graphs(int launches) { return microseconds_of(graph, launches); }

double new_graphs(int launches) {
  cudaGraphExec_t made = nullptr;
  cudaGraphInstantiate(&made, captured, 0);
  microseconds_of(made, 100);
  const double taken = microseconds_of(made, launches);
  cudaGraphExecDestroy(made);
  return taken;
}

int subscribe() { return cuptiSubscribe(&subscriber, called, nullptr); }
int unsubscribe() { return cuptiUnsubscribe(subscriber); }
int finalize() { return cuptiFinalize(); }
int take_buffers() { return cuptiActivityRegisterCallbacks(requested, completed); }
int flush() { return cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }
int kind(int number, int on) {
  const auto which = static_cast<CUpti_ActivityKind>(number);
  return on ? cuptiActivityEnable(which) : cuptiActivityDisable(which);
}
// The functions that the tracer needs, or all others, one by one.
void functions(int needed, int on) {
  using namespace rocm_perf;
  Calls runtime(CUPTI_CB_DOMAIN_RUNTIME_API), driver(CUPTI_CB_DOMAIN_DRIVER_API);
  for (CUpti_CallbackId id = 1; id < CUPTI_RUNTIME_TRACE_CBID_SIZE; ++id)
    if (is_needed(runtime.name(id)) == bool(needed)) cuptiActivityEnableRuntimeApi(id, on);
  for (CUpti_CallbackId id = 1; id < CUPTI_DRIVER_TRACE_CBID_SIZE; ++id)
    if (is_work(driver.name(id)) == bool(needed)) cuptiActivityEnableDriverApi(id, on);
}
long calls() { return calls_recorded; }
int domain(int number, int on) { return cuptiEnableDomain(on, subscriber, static_cast<CUpti_CallbackDomain>(number)); }
}
