#include "cupti/recording.h"

#include <time.h>

#include <algorithm>
#include <array>

#include "common/text.h"
#include "cupti/devices.h"

// Records grow at their end from one CUPTI to the next, so the oldest type that has the fields reads them all.

namespace rocm_perf {
namespace {

constexpr std::size_t kEventsKept = 64;
constexpr std::uint32_t kNone = CUPTI_SYNCHRONIZATION_INVALID_VALUE;

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

template <std::size_t N>
const char* word(const std::array<const char*, N>& words, std::size_t number) {
  return number < N ? words[number] : words[0];
}

constexpr std::array kDirections = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                    "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::array kMemories = {"Unknown", "Pageable", "Pinned",        "Device",
                                  "Array",   "Managed",  "Device Static", "Managed Static"};
constexpr std::array kWaits = {"Unknown", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};

std::string copy_name(std::uint8_t direction, std::uint8_t source, std::uint8_t destination) {
  return std::string("Memcpy ") + word(kDirections, direction) + " (" + word(kMemories, source) + " -> " +
         word(kMemories, destination) + ")";
}

const char* overhead_name(CUpti_ActivityOverheadKind kind) {
  switch (static_cast<std::uint32_t>(kind)) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "Driver Compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "Buffer Flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "Instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "Resource";
    default:
      return "Overhead";
  }
}

std::int64_t signed_stream(std::uint32_t stream) { return stream == kNone ? -1 : static_cast<std::int64_t>(stream); }

template <typename Visit>
void each(std::uint8_t* buffer, std::size_t size, Visit visit) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, size, &record) == CUPTI_SUCCESS) visit(*record);
}

template <typename Kind>
const Kind& as(const CUpti_Activity& activity) {
  return reinterpret_cast<const Kind&>(activity);
}

}  // namespace

Moment now() {
  Moment moment;
  std::uint64_t cupti = 0;
  const std::int64_t epoch = clock_ns(CLOCK_REALTIME);
  cuptiGetTimestamp(&cupti);
  moment.boot_ns = clock_ns(CLOCK_BOOTTIME);
  moment.epoch_ns = (epoch + clock_ns(CLOCK_REALTIME)) / 2;
  moment.cupti_ns = static_cast<std::int64_t>(cupti);
  return moment;
}

void Recording::describe_devices() { devices_ = device_properties(); }

void Recording::add(std::uint8_t* buffer, std::size_t size) {
  if (!begun_) begin();
  note_events(buffer, size);
  each(buffer, size, [this](const CUpti_Activity& activity) { record(activity); });
  file_.flush();
}

void Recording::begin() {
  begun_ = true;
  if (!file_.open(setup_.path)) return;
  std::uint32_t version = 0;
  cuptiGetVersion(&version);
  const Process& process = setup_.process;
  std::string& out = file_.text;
  append_quoted(out += "{\"schemaVersion\": 1, \"rocm_perf\": {\"recorder\": \"rocm-perf cupti\", \"host\": ",
                process.host);
  append_number(out += ", \"pid\": ", process.pid);
  if (!process.rank.empty()) out += ", \"rank\": " + std::to_string(std::stol(process.rank));
  append_quoted(out += ", \"command\": ", process.command);
  append_quoted(out += ", \"domains\": ", setup_.domains);
  append_number(out += ", \"boot_time_ns\": ", setup_.start.boot_ns);
  out += ", \"problems\": [";
  for (std::size_t i = 0; i < setup_.problems.size(); ++i) append_quoted(out += i ? ", " : "", setup_.problems[i]);
  out += "]}, \"deviceProperties\": " + devices_;
  append_number(out += ", \"cupti_version\": ", version);
  append_number(out += ", \"cuda_driver_version\": ", driver_version());
  append_number(out += ", \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": ", setup_.start.epoch_ns);
  out += ", \"traceEvents\": [";
  file_.flush();
}

void Recording::note_events(std::uint8_t* buffer, std::size_t size) {
  each(buffer, size, [this](const CUpti_Activity& activity) {
    if (activity.kind != CUPTI_ACTIVITY_KIND_CUDA_EVENT) return;
    const auto& event = as<CUpti_ActivityCudaEvent>(activity);
    auto& records = recorded_on_[{event.contextId, event.eventId}];
    records.emplace_back(event.correlationId, event.streamId);
    if (records.size() > kEventsKept) records.erase(records.begin());
  });
}

void Recording::record(const CUpti_Activity& activity) {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return kernel(as<CUpti_ActivityKernel4>(activity));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return copy(as<CUpti_ActivityMemcpy>(activity));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return peer_copy(as<CUpti_ActivityMemcpyPtoP>(activity));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return fill(as<CUpti_ActivityMemset>(activity));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return call(as<CUpti_ActivityAPI>(activity));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return synchronization(as<CUpti_ActivitySynchronization>(activity));
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return allocation(as<CUpti_ActivityMemory2>(activity));
    case CUPTI_ACTIVITY_KIND_MARKER:
      return marker(as<CUpti_ActivityMarker2>(activity));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return overhead(as<CUpti_ActivityOverhead>(activity));
    default:
      return;
  }
}

void Recording::kernel(const CUpti_ActivityKernel4& kernel) {
  if (!timed(kernel.start, kernel.end)) return;
  open("kernel", shown(kernel.name), kernel.deviceId, kernel.streamId, kernel.start);
  duration(kernel.start, kernel.end);
  on_gpu(kernel.deviceId, kernel.contextId, kernel.streamId, kernel.correlationId);
  argument("registers per thread", kernel.registersPerThread);
  argument("shared memory", std::int64_t{kernel.staticSharedMemory} + kernel.dynamicSharedMemory);
  const std::int64_t sizes[] = {kernel.gridX, kernel.gridY, kernel.gridZ, kernel.blockX, kernel.blockY, kernel.blockZ};
  for (int i = 0; i < 6; ++i) {
    file_.text += i == 0 ? ", \"grid\": [" : i == 3 ? "], \"block\": [" : ", ";
    append_number(file_.text, sizes[i]);
  }
  file_.text += "]";
  close_event();
}

void Recording::copy(const CUpti_ActivityMemcpy& copy) {
  if (!timed(copy.start, copy.end)) return;
  open("gpu_memcpy", copy_name(copy.copyKind, copy.srcKind, copy.dstKind), copy.deviceId, copy.streamId, copy.start);
  duration(copy.start, copy.end);
  on_gpu(copy.deviceId, copy.contextId, copy.streamId, copy.correlationId);
  argument("bytes", static_cast<std::int64_t>(copy.bytes));
  close_event();
}

void Recording::peer_copy(const CUpti_ActivityMemcpyPtoP& copy) {
  if (!timed(copy.start, copy.end)) return;
  open("gpu_memcpy", copy_name(copy.copyKind, copy.srcKind, copy.dstKind), copy.deviceId, copy.streamId, copy.start);
  duration(copy.start, copy.end);
  on_gpu(copy.deviceId, copy.contextId, copy.streamId, copy.correlationId);
  argument("bytes", static_cast<std::int64_t>(copy.bytes));
  argument("fromDevice", copy.srcDeviceId);
  argument("toDevice", copy.dstDeviceId);
  close_event();
}

void Recording::fill(const CUpti_ActivityMemset& fill) {
  if (!timed(fill.start, fill.end)) return;
  const std::string name = std::string("Memset (") + word(kMemories, fill.memoryKind) + ")";
  open("gpu_memset", name, fill.deviceId, fill.streamId, fill.start);
  duration(fill.start, fill.end);
  on_gpu(fill.deviceId, fill.contextId, fill.streamId, fill.correlationId);
  argument("bytes", static_cast<std::int64_t>(fill.bytes));
  close_event();
}

void Recording::call(const CUpti_ActivityAPI& call) {
  const bool runtime = call.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  const std::string& name = (runtime ? runtime_ : driver_).name(call.cbid);
  const bool wanted = runtime ? !is_noise(name) : setup_.every_driver_call || is_work(name);
  if (name.empty() || !wanted || !timed(call.start, call.end)) return;
  open(runtime ? "cuda_runtime" : "cuda_driver", name, setup_.process.pid, call.threadId, call.start);
  duration(call.start, call.end);
  file_.text += ", \"args\": {\"cbid\": ";
  append_number(file_.text, call.cbid);
  argument("correlation", call.correlationId);
  if (call.returnValue) argument("return value", call.returnValue);
  close_event();
}

void Recording::synchronization(const CUpti_ActivitySynchronization& wait) {
  const auto type = static_cast<std::size_t>(wait.type);
  if (type == 0 || type >= kWaits.size() || !timed(wait.start, wait.end)) return;
  const auto found = device_of_.find(wait.contextId);
  const std::int64_t device = found == device_of_.end() ? 0 : found->second;
  open("cuda_sync", kWaits[type], device, signed_stream(wait.streamId), wait.start);
  duration(wait.start, wait.end);
  file_.text += ", \"args\": {\"device\": ";
  append_number(file_.text, device);
  argument("stream", signed_stream(wait.streamId));
  argument("context", wait.contextId);
  argument("correlation", wait.correlationId);
  const std::int64_t stream = waited_stream(wait);
  if (stream >= 0) argument("wait_on_stream", stream);
  close_event();
}

// The stream on which the event had last been recorded when the wait was asked for.
std::int64_t Recording::waited_stream(const CUpti_ActivitySynchronization& wait) const {
  const auto found = recorded_on_.find({wait.contextId, wait.cudaEventId});
  if (wait.cudaEventId == kNone || found == recorded_on_.end()) return -1;
  std::pair<std::uint32_t, std::int64_t> latest{0, -1};
  for (const auto& [correlation, stream] : found->second)
    if (correlation < wait.correlationId && correlation >= latest.first) latest = {correlation, stream};
  return latest.second;
}

void Recording::allocation(const CUpti_ActivityMemory2& memory) {
  const bool release = memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  const bool taken = memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  const bool of_host = memory.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED ||
                       memory.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  if (!(release || taken) || memory.timestamp == 0) return;
  open("cpu_instant_event", "[memory]", setup_.process.pid, setup_.process.pid, memory.timestamp);
  const auto bytes = static_cast<std::int64_t>(memory.bytes);
  file_.text += ", \"s\": \"t\", \"args\": {\"Bytes\": ";
  append_number(file_.text, release ? -bytes : bytes);
  argument("Addr", static_cast<std::int64_t>(memory.address));
  argument("Device Type", of_host ? 0 : 1);
  argument("Device Id", memory.deviceId);
  argument("correlation", memory.correlationId);
  close_event();
}

void Recording::marker(const CUpti_ActivityMarker2& marker) {
  const auto flags = static_cast<std::uint32_t>(marker.flags);
  if (flags & CUPTI_ACTIVITY_FLAG_MARKER_END) {
    const auto found = open_ranges_.find(marker.id);
    if (found == open_ranges_.end()) return;
    range(found->second, marker.timestamp);
    open_ranges_.erase(found);
    return;
  }
  Range fresh{marker.name ? marker.name : "", marker.domain ? marker.domain : "", marker.timestamp,
              marker.objectId.pt.threadId};
  if (flags & CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS)
    range(fresh, marker.timestamp);
  else if (flags & CUPTI_ACTIVITY_FLAG_MARKER_START)
    open_ranges_[marker.id] = std::move(fresh);
}

void Recording::range(const Range& range, std::uint64_t end) {
  if (!timed(range.start, end)) return;
  open("user_annotation", range.name, setup_.process.pid, range.thread, range.start);
  duration(range.start, end);
  append_quoted(file_.text += ", \"args\": {\"domain\": ", range.domain);
  close_event();
}

void Recording::overhead(const CUpti_ActivityOverhead& overhead) {
  if (!timed(overhead.start, overhead.end)) return;
  const bool thread = overhead.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD;
  open("overhead", overhead_name(overhead.overheadKind), -1, thread ? overhead.objectId.pt.threadId : 0,
       overhead.start);
  duration(overhead.start, overhead.end);
  file_.text += "}";
}

// A record that was flushed before its activity had ended has no times.
bool Recording::timed(std::uint64_t start, std::uint64_t end) {
  const bool complete = start != 0 && end >= start;
  if (complete) last_ns_ = std::max(last_ns_, end);
  incomplete_ += !complete;
  return complete && file_.is_open();
}

void Recording::open(std::string_view category, std::string_view name, std::int64_t pid, std::int64_t tid,
                     std::uint64_t start) {
  std::string& out = file_.text;
  out += events_++ ? ",\n{\"ph\": \"" : "\n{\"ph\": \"";
  out += category == "cpu_instant_event" ? "i" : "X";
  append_quoted(out += "\", \"cat\": ", category);
  append_quoted(out += ", \"name\": ", name);
  append_number(out += ", \"pid\": ", pid);
  append_number(out += ", \"tid\": ", tid);
  append_microseconds(out += ", \"ts\": ", static_cast<std::int64_t>(start) - setup_.start.cupti_ns);
}

void Recording::duration(std::uint64_t start, std::uint64_t end) {
  append_microseconds(file_.text += ", \"dur\": ", static_cast<std::int64_t>(end - start));
}

void Recording::on_gpu(std::uint32_t device, std::uint32_t context, std::uint32_t stream, std::uint32_t correlation) {
  streams_.emplace(device, stream);
  append_number(file_.text += ", \"args\": {\"device\": ", device);
  argument("context", context);
  argument("stream", stream);
  argument("correlation", correlation);
}

void Recording::argument(const char* name, std::int64_t value) {
  append_quoted(file_.text += ", ", name);
  append_number(file_.text += ": ", value);
}

const std::string& Recording::shown(const char* kernel) {
  if (!kernel) kernel = "unnamed kernel";
  auto found = kernels_.find(kernel);
  if (found == kernels_.end()) found = kernels_.emplace(kernel, demangled(kernel)).first;
  return found->second;
}

void Recording::metadata(const char* what, std::int64_t pid, std::int64_t tid, std::string_view name) {
  std::string& out = file_.text;
  append_quoted(out += events_++ ? ",\n{\"ph\": \"M\", \"name\": " : "\n{\"ph\": \"M\", \"name\": ", what);
  append_number(out += ", \"pid\": ", pid);
  append_number(out += ", \"tid\": ", tid);
  append_quoted(out += ", \"args\": {\"name\": ", name);
  out += "}}";
}

void Recording::finish(std::uint64_t dropped, int signal) {
  if (!file_.is_open()) return;
  const std::size_t unended = open_ranges_.size();
  for (const auto& [id, range_] : open_ranges_) range(range_, std::max(last_ns_, range_.start));
  metadata("process_name", setup_.process.pid, 0, setup_.process.command);
  for (const auto& [device, stream] : streams_) {
    metadata("process_name", device, 0, "GPU " + std::to_string(device));
    metadata("thread_name", device, stream, "stream " + std::to_string(stream));
  }
  std::string& out = file_.text;
  append_number(out += "\n], \"rocm_perf_end\": {\"dropped_records\": ", static_cast<std::int64_t>(dropped));
  append_number(out += ", \"incomplete_records\": ", static_cast<std::int64_t>(incomplete_));
  append_number(out += ", \"unended_ranges\": ", static_cast<std::int64_t>(unended));
  append_number(out += ", \"signal\": ", signal);
  out += "}}\n";
  file_.close();
}

}  // namespace rocm_perf
