// An application that uses "CUDA": it loads the tracer as the driver does, and plays one scene.
#include <cupti.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cupti/nvtx.h"
#include "standin.h"

namespace {

void* tracer = nullptr;

void initialise_cuda() {
  dlopen("libcuda.so.1", RTLD_NOW);
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (!path) return;
  tracer = dlopen(path, RTLD_NOW);
  if (!tracer) {
    std::fprintf(stderr, "no tracer: %s\n", dlerror());
    std::exit(90);
  }
  reinterpret_cast<int (*)()>(dlsym(tracer, "InitializeInjection"))();
}

template <typename Record>
void put(const Record& record) {
  standin_put(&record, sizeof record);
}

void kernel(const char* name, unsigned correlation, unsigned long start, unsigned long end, unsigned device = 0,
            unsigned stream = 7) {
  CUpti_ActivityKernel4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.correlationId = correlation;
  record.start = start, record.end = end;
  record.deviceId = device, record.contextId = device + 1, record.streamId = stream;
  record.gridX = 10, record.gridY = 2, record.gridZ = 1;
  record.blockX = 128, record.blockY = record.blockZ = 1;
  record.registersPerThread = 40;
  record.staticSharedMemory = 1024, record.dynamicSharedMemory = 512;
  put(record);
}

void call(CUpti_ActivityKind kind, unsigned function, unsigned correlation, unsigned long start, unsigned long end) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.cbid = function;
  record.correlationId = correlation;
  record.start = start, record.end = end;
  record.processId = getpid(), record.threadId = gettid();
  put(record);
}

void launch(const char* name, unsigned correlation, unsigned long start) {
  call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, correlation, start, start + 4001);
  kernel(name, correlation, start + 5003, start + 7010);
}

void marker(unsigned id, unsigned flags, const char* name, unsigned long time, const char* domain = nullptr) {
  CUpti_ActivityMarker2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = static_cast<CUpti_ActivityFlag>(flags);
  record.id = id;
  record.timestamp = time;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = getpid(), record.objectId.pt.threadId = gettid();
  record.name = name, record.domain = domain;
  put(record);
}

void memory(bool release, unsigned long address, unsigned long bytes, unsigned long time,
            CUpti_ActivityMemoryKind kind) {
  CUpti_ActivityMemory2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType =
      release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = kind;
  record.address = address, record.bytes = bytes, record.timestamp = time;
  put(record);
}

void everything() {
  const unsigned long start = standin_now();
  standin_context_created(1, 0);
  standin_context_created(2, 1);
  launch("_Z3addPfS_i", 1, start);
  launch("quote \" back \\ tab \t bell \a latin \xe9 snow \xe2\x98\x83 end", 2, start + 10000);
  kernel("never_ended", 3, start, 0);
  kernel("f", 4, start + 20000, start + 20001, 1, 13);
  call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, 5, start, start + 1);
  call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_ptds_v7000, 6, start + 30000, start + 40000);
  call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 4, start + 19000, start + 19500);
  call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, 8, start + 19000, start + 19500);

  CUpti_ActivityMemcpy copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED, copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 1u << 30, copy.start = start + 31000, copy.end = start + 39000;
  copy.contextId = 1, copy.streamId = 7, copy.correlationId = 6;
  put(copy);
  CUpti_ActivityMemcpyPtoP peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.srcKind = peer.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  peer.bytes = 64, peer.start = start + 41000, peer.end = start + 42000, peer.dstDeviceId = 1;
  put(peer);
  CUpti_ActivityMemset fill{};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  fill.bytes = 4096, fill.start = start + 43000, fill.end = start + 43500, fill.streamId = 7;
  put(fill);

  CUpti_ActivityCudaEvent event{};
  event.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  event.contextId = 1, event.eventId = 5, event.streamId = 7, event.correlationId = 10;
  CUpti_ActivitySynchronization wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  wait.contextId = 1, wait.streamId = 13, wait.cudaEventId = 5, wait.correlationId = 11;
  wait.start = start + 44000, wait.end = start + 44100;
  put(wait);  // before the record of its event, as it may come
  put(event);
  event.streamId = 99, event.correlationId = 12;  // recorded again, after the wait
  put(event);

  marker(1, CUPTI_ACTIVITY_FLAG_MARKER_START, "step 1", start + 100, nullptr);
  marker(2, CUPTI_ACTIVITY_FLAG_MARKER_START, "ncclAllReduce", start + 200, "NCCL");
  marker(2, CUPTI_ACTIVITY_FLAG_MARKER_END, nullptr, start + 300);
  marker(1, CUPTI_ACTIVITY_FLAG_MARKER_END, nullptr, start + 400);
  marker(3, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, "now", start + 450);
  marker(4, CUPTI_ACTIVITY_FLAG_MARKER_START, "never popped", start + 460);
  memory(false, 0x7f0000000000, 1 << 20, start + 50, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  memory(true, 0x7f0000000000, 1 << 20, start + 60000, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  memory(false, 0x100, 4096, start + 50, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  standin_drop(5);
}

void many() {
  standin_context_created(1, 0);
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread)
    threads.emplace_back([thread] {
      for (unsigned i = 0; i < 25000; ++i) launch("_Z3addPfS_i", thread * 25000 + i + 1, standin_now());
    });
  for (auto& thread : threads) thread.join();
}

void some_from(unsigned first, unsigned count) {
  for (unsigned i = first + 1; i <= first + count; ++i) launch("_Z3addPfS_i", i, standin_now());
}

// What the tracer does is waited for: no scene depends on how fast the machine is, or on which thread has its turn.
constexpr unsigned kPatience = 60'000;  // ms

void call(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  standin_begin_call(domain, id);
  standin_end_call(domain, id);
}

void call_runtime(CUpti_CallbackId id) { call(CUPTI_CB_DOMAIN_RUNTIME_API, id); }

void await_recording(bool on) {
  for (unsigned ms = 0; ms < kPatience && standin_records_kernels() != on; ++ms, usleep(1000))
    call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020);
}

// A thousand kernels at once while they are recorded; the tracer's thread has its turn after each.
void until_closed() {
  standin_context_created(1, 0);
  await_recording(true);
  for (unsigned ms = 0; ms < kPatience && standin_records_kernels(); ++ms, usleep(1000)) {
    some_from(ms * 1000, 1000);
    call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020);
  }
}

// Calls that are not recorded, one after the other, and few kernels, until a window that is not the first has closed
// early. On a busy machine few calls are heard, or this thread sees it late: then there are more windows.
void calling() {
  constexpr unsigned long kShort = 200'000'000;  // nanoseconds; of windows that are open for 500 ms
  constexpr unsigned kWindows = 12;
  unsigned long recorded_from = 0;
  standin_context_created(1, 0);
  for (unsigned step = 0; standin_detachments() < kWindows; ++step) {
    some_from(step, 1);
    for (unsigned i = 0; i < 1000; ++i) call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020);
    const unsigned long now = standin_now();
    if (standin_records_kernels() && !recorded_from) recorded_from = now;
    if (standin_records_kernels() || !recorded_from) continue;
    if (standin_detachments() > 1 && now - recorded_from < kShort) return;
    recorded_from = 0;
  }
}

void some(unsigned count) { some_from(0, count); }

// --- Windows: phases, each with a kernel on the stream of its number ---

void push(const char* name) {
  rocm_perf::NvtxPush parameters{name};
  const CUpti_NvtxData data{"nvtxRangePushA", &parameters, nullptr};
  standin_call_back(CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxRangePushA, &data);
}

void push_registered(const char* name) {
  const void* const handle = name;
  rocm_perf::NvtxRegisterString registration{nullptr, name};
  const CUpti_NvtxData registered{"nvtxDomainRegisterStringA", &registration, &handle};
  standin_call_back(CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxDomainRegisterStringA, &registered);
  rocm_perf::NvtxAttributes attributes{};
  attributes.message_type = 3, attributes.message = handle;
  rocm_perf::NvtxDomainPushEx parameters{nullptr, {&attributes}};
  const CUpti_NvtxData data{"nvtxDomainRangePushEx", &parameters, nullptr};
  standin_call_back(CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxDomainRangePushEx, &data);
}

void pop() {
  const CUpti_NvtxData data{"nvtxRangePop", nullptr, nullptr};
  standin_call_back(CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxRangePop, &data);
}

// The kernel runs a while after its launch, when the window may have closed.
void phase(unsigned number) {
  const unsigned long start = standin_now();
  call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, number + 1, start, start + 1000);
  call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, 100, start + 1000, start + 1001);
  kernel("_Z3addPfS_i", number + 1, start + 50'000'000, start + 50'001'000, 0, number);
}

void windows() {
  standin_context_created(1, 0);
  for (unsigned number = 0; number < 8; ++number) {
    const bool is_step = number % 2 && number < 6;
    if (is_step) push("step");
    if (number == 6) push_registered("registered");
    if (number == 7) {
      push("endless");
      call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);
    }
    push("inner");
    phase(number);
    pop();
    if (is_step || number == 6) pop();
    usleep(10 * 1000);
  }
  call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
}

// Phase 0 before a window that opens by the clock, 1 in it, 2 when it has closed.
void by_the_clock(bool opens, bool closes) {
  standin_context_created(1, 0);
  if (opens) {
    phase(0);
    await_recording(true);
    usleep(300 * 1000);  // the tracer switches CUPTI on first, and then opens the window
  }
  phase(1);
  if (!closes) return;
  await_recording(false);
  phase(2);
}

void ring() {
  standin_context_created(1, 0);
  for (unsigned i = 0; i < 500; ++i, usleep(10 * 1000)) some_from(10 * i, 10);
}

void launch_steadily(unsigned step) {
  some_from(10 * step, 10);
  call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  usleep(10 * 1000);
}

// As `ring`, for two seconds.
void steady() {
  standin_context_created(1, 0);
  for (unsigned step = 0; step < 200; ++step) launch_steadily(step);
}

// As `steady`, for longer than the tracer waits to leave, with graphs on so many GPUs; nobody waits for the stream that
// they run on.
void with_graphs(unsigned gpus, bool waits, bool captures = false) {
  for (unsigned gpu = 0; gpu < gpus; ++gpu) standin_context_created(gpu + 1, gpu);
  if (captures) await_recording(true), call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000);
  for (unsigned step = 0; step < 450; ++step) {
    call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);
    launch_steadily(step);
    if (waits) call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020);
  }
}

// Until CUPTI has been detached so often; says how much was launched.
void until_detached(unsigned times) {
  standin_context_created(1, 0);
  unsigned step = 0;
  for (; step < kPatience / 10 && standin_detachments() < times; ++step) launch_steadily(step);
  std::printf("%u\n", 10 * step);
}

// One call from the window to long after it, which calls the driver all the time.
void in_a_call() {
  constexpr auto kLong = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  standin_context_created(1, 0);
  await_recording(true);
  call_runtime(CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020);
  standin_begin_call(CUPTI_CB_DOMAIN_RUNTIME_API, kLong);
  some(10);
  for (unsigned ms = 0; ms < 2500; ++ms, usleep(1000))
    call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
  standin_end_call(CUPTI_CB_DOMAIN_RUNTIME_API, kLong);
  for (unsigned ms = 0; ms < kPatience && !standin_detachments(); ++ms, usleep(1000)) call_runtime(kLong);
}

// As `steady`, in two threads that take turns: no call is under way when another begins.
void in_threads() {
  standin_context_created(1, 0);
  for (unsigned step = 0; step < 200; ++step)
    step % 20 ? launch_steadily(step) : std::thread(launch_steadily, step).join();
}

// Says whether CUPTI was there before the window opened.
void until_attached() {
  standin_context_created(1, 0);
  usleep(200 * 1000);
  std::puts(standin_is_attached() ? "attached" : "not yet");
  await_recording(true);
  for (unsigned step = 0; step < 20; ++step) launch_steadily(step);
}

// Ends in a window.
void until_opened() {
  standin_context_created(1, 0);
  await_recording(true);
  for (unsigned step = 0; step < 50; ++step) launch_steadily(step);
}

int forking() {
  standin_context_created(1, 0);
  some(10);
  const pid_t child = fork();
  if (child == 0) std::exit(std::getenv("CHILD_KILLED") ? raise(SIGTERM) : 5);
  int status = 0;
  waitpid(child, &status, 0);
  some(10);
  return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

}  // namespace

int main(int, char** words) {
  const std::string scene = words[1];
  if (scene == "without") return 3;
  initialise_cuda();
  if (scene == "unused") return 4;
  if (scene == "nvtx") return reinterpret_cast<int (*)(void*)>(dlsym(tracer, "InitializeInjectionNvtx2"))(words);
  if (scene == "fork") return forking();
  if (scene == "many") return many(), 0;
  if (scene == "until closed") return until_closed(), 0;
  if (scene == "calling") return calling(), 0;
  if (scene == "windows") return windows(), 0;
  if (scene == "ring") return ring(), 0;
  if (scene == "steady") return steady(), 0;
  if (scene == "with graphs") return with_graphs(1, true), 0;
  if (scene == "with graphs, without waits") return with_graphs(1, false), 0;
  if (scene == "with graphs on two GPUs") return with_graphs(2, true), 0;
  if (scene == "with graphs, beside a capture") return with_graphs(1, true, true), 0;
  if (scene == "in a call") return in_a_call(), 0;
  if (scene == "in threads") return in_threads(), 0;
  if (scene == "delay") return by_the_clock(true, false), 0;
  if (scene == "duration") return by_the_clock(false, true), 0;
  if (scene == "delay and duration") return by_the_clock(true, true), 0;
  if (scene == "detached once") return until_detached(1), 0;
  if (scene == "detached five times") return until_detached(5), 0;
  if (scene == "until attached") return until_attached(), 0;
  if (scene == "until opened") return until_opened(), 0;
  if (scene == "everything") return everything(), 7;
  standin_context_created(1, 0);
  some(1000);
  std::puts("ready");
  std::fflush(stdout);
  if (scene == "waits") sleep(300);
  return 0;
}
