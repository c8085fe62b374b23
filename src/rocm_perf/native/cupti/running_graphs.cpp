#include "cupti/running_graphs.h"

#include <chrono>
#include <string_view>
#include <thread>

#include "cupti/driver.h"

namespace rocm_perf {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(50);

// What was launched before this thread began to wait.
thread_local std::uint64_t launched_before = 0;

enum class Kind { other, launch, wait_for_stream, wait_for_context };

bool begins(std::string_view text, std::string_view beginning) { return text.substr(0, beginning.size()) == beginning; }

// A function of either API; the runtime's call the driver's with the same handles.
Kind kind_of(const CUpti_CallbackData& call) {
  std::string_view name = call.functionName ? call.functionName : "";
  if (!begins(name, "cu")) return Kind::other;
  name.remove_prefix(begins(name, "cuda") ? 4 : 2);
  if (begins(name, "GraphLaunch")) return Kind::launch;
  if (begins(name, "StreamSynchronize")) return Kind::wait_for_stream;
  if (begins(name, "CtxSynchronize") || begins(name, "DeviceSynchronize")) return Kind::wait_for_context;
  return Kind::other;
}

const void* parameter(const CUpti_CallbackData& call, std::size_t number) {
  return static_cast<void* const*>(call.functionParams)[number];
}

CUstream launched_on(const CUpti_CallbackData& launch) {
  const void* const stream = parameter(launch, 1);
  const bool is_per_thread = std::string_view(launch.functionName).find("_ptsz") != std::string_view::npos;
  if (!stream && is_per_thread) return CU_STREAM_PER_THREAD;
  return static_cast<CUstream>(const_cast<void*>(stream));
}

// Other streams of the program may be in a capture, which forbids calls such as these to threads that are not relaxed.
class Relaxed {
 public:
  Relaxed() { exchange(); }
  ~Relaxed() { exchange(); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  void exchange() {
    static const auto change = driver_function<CUresult(CUstreamCaptureMode*)>("cuThreadExchangeStreamCaptureMode");
    if (change) change(&mode_);
  }
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

bool becomes_idle(CUstream stream) {
  static const auto capturing = driver_function<CUresult(CUstream, CUstreamCaptureStatus*)>("cuStreamIsCapturing");
  static const auto query = driver_function<CUresult(CUstream)>("cuStreamQuery");
  if (!capturing || !query) return false;
  const Relaxed relaxed;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (capturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE) return false;
  CUresult result = query(stream);
  const auto end = std::chrono::steady_clock::now() + kMoment;
  while (result == CUDA_ERROR_NOT_READY && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    result = query(stream);
  }
  return result == CUDA_SUCCESS;
}

}  // namespace

void RunningGraphs::called(const CUpti_CallbackData& call) {
  const Kind kind = kind_of(call);
  if (kind == Kind::other) return;
  const bool begins = call.callbackSite == CUPTI_API_ENTER;
  if (!begins && *static_cast<const int*>(call.functionReturnValue) != 0) return;
  if (kind == Kind::launch && begins) launched({call.contextUid, parameter(call, 1)});
  if (kind == Kind::wait_for_stream) waited(Stream{call.contextUid, parameter(call, 0)}, begins);
  if (kind == Kind::wait_for_context) waited(call.contextUid, begins);
}

void RunningGraphs::launched(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  last_launch_[stream] = ++launches_;
}

void RunningGraphs::waited(const Stream& stream, bool begins) {
  const std::lock_guard lock(mutex_);
  const auto last = last_launch_.find(stream);
  if (begins) {
    launched_before = launches_;
  } else if (last != last_launch_.end() && last->second <= launched_before) {
    last_launch_.erase(last);
  }
}

void RunningGraphs::waited(std::uint32_t context, bool begins) {
  const std::lock_guard lock(mutex_);
  if (begins) launched_before = launches_;
  for (auto entry = last_launch_.begin(); !begins && entry != last_launch_.end();) {
    const bool is_done = entry->first.first == context && entry->second <= launched_before;
    entry = is_done ? last_launch_.erase(entry) : std::next(entry);
  }
}

bool RunningGraphs::finish(const CUpti_CallbackData& ended) {
  const bool is_done = kind_of(ended) == Kind::launch && becomes_idle(launched_on(ended));
  const std::lock_guard lock(mutex_);
  if (is_done) last_launch_.erase({ended.contextUid, parameter(ended, 1)});
  return last_launch_.empty();
}

void RunningGraphs::forget() {
  const std::lock_guard lock(mutex_);
  last_launch_.clear();
}

}  // namespace rocm_perf
