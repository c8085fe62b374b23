// CUPTI attached and detached before, in and after the making and running of a CUDA graph, for captures.py:
// `captures CASE CYCLES`. It is detached with everything still recorded, at the end of a call while no other is under
// way. Exit code 3: a call of CUDA failed, and stderr says which.
#include <cuda_runtime.h>
#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>

namespace {

constexpr int kHalf = 5;  // kernels of half a graph
constexpr std::size_t kBufferBytes = 1 << 17;
constexpr std::uint64_t kCounted = 42;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_DRIVER,
                                         CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                         CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                         CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_OVERHEAD};

cudaStream_t stream = nullptr;
float* values = nullptr;
std::atomic<bool> leaving{false}, attached{false};
std::atomic<int> calls{0};
std::atomic<std::thread::id> leaver{};  // the only thread that may detach it, if there is one

__global__ void add_one(float* numbers) { numbers[threadIdx.x] += 1; }
template <int kNumber>
__global__ void add(float* numbers) {
  numbers[threadIdx.x] += kNumber;
}
__global__ void take_50_us(float* numbers) {
  const long long start = clock64();
  while (clock64() - start < 90'000) {
  }
  numbers[threadIdx.x] += 1;
}

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::_Exit(3);
}
#define CHECK(call) check(call, #call)

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(16, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) { std::free(buffer); }

void CUPTIAPI called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) {
    *call.correlationData = kCounted;
    ++calls;
    return;
  }
  if (*call.correlationData != kCounted) return;  // it began before CUPTI was attached
  if (--calls > 0 || (leaver != std::thread::id() && leaver != std::this_thread::get_id())) return;
  bool now = true;
  if (!leaving.compare_exchange_strong(now, false)) return;
  cuptiFinalize();
  attached = false;
}

void record(bool on) {
  for (const CUpti_ActivityKind kind : kKinds) on ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind);
}

void subscribe() {
  calls = 0;
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cuptiSubscribe(&subscriber, called, nullptr) != CUPTI_SUCCESS) std::_Exit(4);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  cuptiActivityRegisterCallbacks(requested, completed);
  attached = true;
}

void attach() { subscribe(), record(true); }

void leave_with_next_call() { leaving = true; }

void leave() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  leave_with_next_call();
  cudaStreamCaptureStatus status{};
  while (attached) cudaStreamIsCapturing(stream, &status);  // allowed in a capture
}

// One that the program has not run before, and so is loaded by the launch.
constexpr int kFresh = 300;
using Kernel = void (*)(float*);
template <int... kNumbers>
constexpr std::array<Kernel, sizeof...(kNumbers)> kernels(std::integer_sequence<int, kNumbers...>) {
  return {add<kNumbers>...};
}
Kernel fresh() {
  static const auto all = kernels(std::make_integer_sequence<int, kFresh>());
  static int next = 0;
  return all[next++ % kFresh];
}

void begin() { CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); }
void half() {
  for (int i = 0; i < kHalf; ++i) add_one<<<1, 64, 0, stream>>>(values);
}
void fresh_half() {
  fresh()<<<1, 64, 0, stream>>>(values);
  half();
}
void slow_half() {
  for (int i = 0; i < kHalf; ++i) take_50_us<<<1, 64, 0, stream>>>(values);
}
cudaGraph_t end() {
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph));
  return graph;
}
cudaGraph_t capture() {
  begin(), half(), half();
  return end();
}
cudaGraphExec_t made(cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  return exec;
}
void launch(cudaGraphExec_t exec, int times = 50) {
  for (int i = 0; i < times; ++i) CHECK(cudaGraphLaunch(exec, stream));
}
void destroy(cudaGraphExec_t exec) { CHECK(cudaGraphExecDestroy(exec)); }
void wait() { CHECK(cudaStreamSynchronize(stream)); }

void run_to_its_end(cudaGraphExec_t exec) { launch(exec), wait(), destroy(exec); }

void made_before() {
  const cudaGraphExec_t exec = made(capture());
  attach(), launch(exec), wait(), leave(), launch(exec), wait();
}
void made_while() {
  attach();
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), leave(), launch(exec), wait();
}
void in_flight() {
  attach(), begin(), slow_half();
  const cudaGraphExec_t exec = made(end());
  launch(exec, 300), leave_with_next_call(), launch(exec), wait();
}
void left_in_capture() {
  attach(), begin(), half(), leave(), half();
  launch(made(end())), wait();
}
void left_before_making() {
  attach();
  const cudaGraph_t graph = capture();
  leave(), launch(made(graph)), wait();
}
void attached_in_capture() {
  begin(), half(), attach(), half();
  const cudaGraphExec_t exec = made(end());
  launch(exec), wait(), leave(), launch(exec), wait();
}
void attached_before_making() {
  const cudaGraph_t graph = capture();
  attach();
  const cudaGraphExec_t exec = made(graph);
  launch(exec), wait(), leave(), launch(exec), wait();
}
void within_capture() {
  begin(), half(), attach(), half(), leave(), half();
  launch(made(end())), wait();
}
void updated_while() {
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), attach();
  cudaGraphExecUpdateResultInfo info{};
  CHECK(cudaGraphExecUpdate(exec, capture(), &info));
  launch(exec), wait(), leave(), launch(exec), wait();
}
void updated_after() {
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), attach();
  const cudaGraph_t graph = capture();
  leave();
  cudaGraphExecUpdateResultInfo info{};
  CHECK(cudaGraphExecUpdate(exec, graph, &info));
  launch(exec), wait();
}

void destroyed_while() {
  attach();
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), destroy(exec), leave(), half(), wait();
}
void destroyed_after() {
  attach();
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), leave(), launch(exec), wait(), destroy(exec), launch(made(capture())), wait();
}
void destroyed_anew() {
  attach();
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), leave(), launch(exec), wait();
  attach(), launch(exec), wait(), destroy(exec), leave(), launch(made(capture())), wait();
}
void loaded_while() {
  attach(), begin(), fresh_half();
  const cudaGraphExec_t exec = made(end());
  launch(exec), wait(), leave(), launch(exec), wait();
}
void loaded_before() {
  begin(), fresh_half();
  const cudaGraphExec_t exec = made(end());
  attach(), launch(exec), wait(), leave(), run_to_its_end(exec);
}
void loaded_after() {
  attach(), begin(), half(), leave(), fresh_half();
  const cudaGraphExec_t exec = made(end());
  launch(exec), wait(), attach(), launch(exec), wait(), leave(), run_to_its_end(exec);
}

// Graphs that ran while CUPTI was attached and recorded nothing.
void launched_off() {
  subscribe();
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), record(true), half(), wait(), leave(), run_to_its_end(exec);
}
void launched_off_and_on() {
  subscribe();
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), record(true), launch(exec), wait(), leave(), run_to_its_end(exec);
}
void left_off() {
  subscribe();
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), leave(), run_to_its_end(exec);
}
void switched_off() {
  attach();
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), record(false), launch(exec), wait(), leave(), run_to_its_end(exec);
}
void switched_off_and_on() {
  attach();
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), record(false), launch(exec), wait(), record(true);
  half(), wait(), leave(), run_to_its_end(exec);
}
void switched_on_in_flight() {
  begin(), slow_half();
  const cudaGraphExec_t exec = made(end());
  subscribe(), launch(exec, 300), record(true), leave_with_next_call(), launch(exec), wait(), destroy(exec);
}
void attached_in_flight() {
  begin(), slow_half();
  const cudaGraphExec_t exec = made(end());
  launch(exec, 300), attach(), leave_with_next_call(), half(), launch(exec), wait(), destroy(exec);
}
void not_launched_while() {
  const cudaGraphExec_t exec = made(capture());
  launch(exec), wait(), attach(), half(), wait(), leave(), run_to_its_end(exec);
}

// A graph that is launched without a pause while CUPTI is attached in another thread, as ours is.
void attached_beside() {
  const cudaGraphExec_t exec = made(capture());
  std::atomic<bool> here{false};
  std::thread other([&] { attach(), here = true; });
  while (!here) launch(exec, 1);
  other.join();
  launch(exec), wait(), leave(), run_to_its_end(exec);
}

// Another thread makes and launches graphs, or launches one that it has, while CUPTI comes and goes.
void beside(bool makes) {
  std::atomic<bool> stopping{false};
  std::thread other([&] {
    cudaStream_t own = nullptr;
    CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    cudaGraphExec_t exec = nullptr;
    while (!stopping) {
      if (makes || !exec) {
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < 2 * kHalf; ++i) add_one<<<1, 64, 0, own>>>(values);
        CHECK(cudaStreamEndCapture(own, &graph));
        exec = made(graph);
      }
      for (int i = 0; i < 20; ++i) CHECK(cudaGraphLaunch(exec, own));
      CHECK(cudaStreamSynchronize(own));
    }
  });
  for (int i = 0; i < 10; ++i) attach(), half(), wait(), leave(), half(), wait();
  stopping = true;
  other.join();
}

// Another thread launches kernels without a pause; the graphs' own thread lets CUPTI go.
void beside_kernels() {
  std::atomic<bool> stopping{false};
  std::thread other([&] {
    cudaStream_t own = nullptr;
    CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    while (!stopping) {
      for (int i = 0; i < 200; ++i) add_one<<<1, 64, 0, own>>>(values);
      CHECK(cudaStreamSynchronize(own));
    }
  });
  const cudaGraphExec_t exec = made(capture());
  leaver = std::this_thread::get_id();
  for (int i = 0; i < 10; ++i) {
    attach(), launch(exec), wait();
    const cudaGraphExec_t another = made(capture());
    launch(another), wait(), leave(), launch(exec), launch(another), wait(), destroy(another);
  }
  leaver = std::thread::id();
  stopping = true;
  other.join();
}

const std::map<std::string, std::function<void()>> kCases = {
    {"made before", made_before},
    {"made while attached", made_while},
    {"left in flight", in_flight},
    {"left in a capture", left_in_capture},
    {"left before instantiation", left_before_making},
    {"attached in a capture", attached_in_capture},
    {"attached before instantiation", attached_before_making},
    {"attached and left in a capture", within_capture},
    {"updated while attached", updated_while},
    {"updated after leaving", updated_after},
    {"destroyed while attached", destroyed_while},
    {"destroyed after leaving", destroyed_after},
    {"destroyed attached anew", destroyed_anew},
    {"loaded while attached", loaded_while},
    {"loaded before", loaded_before},
    {"loaded after leaving", loaded_after},
    {"launched while off", launched_off},
    {"launched while off, then on", launched_off_and_on},
    {"never on", left_off},
    {"switched off", switched_off},
    {"switched off, then on", switched_off_and_on},
    {"switched on in flight", switched_on_in_flight},
    {"attached in flight", attached_in_flight},
    {"not launched while attached", not_launched_while},
    {"attached beside launches", attached_beside},
    {"beside kernels", beside_kernels},
    {"beside launches", [] { beside(false); }},
    {"beside making", [] { beside(true); }},
};

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    for (const auto& entry : kCases) std::puts(entry.first.c_str());
    return 0;
  }
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&values, 4096));
  for (int cycle = std::atoi(words[2]); cycle > 0; --cycle) kCases.at(words[1])();
  CHECK(cudaDeviceSynchronize());
  std::_Exit(0);
}
