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
constexpr std::size_t kRowsKept = 1 << 16;   // in memory, before they are written
constexpr std::size_t kMostNames = 1 << 16;  // beyond, they are looked up again
constexpr std::int64_t kNobody = -1;
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

std::int64_t signed_stream(std::uint32_t stream) {
  return stream == kNone ? kNobody : static_cast<std::int64_t>(stream);
}

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

template <typename Record>
std::int64_t length(const Record& record) {
  return number(record.end - record.start);
}

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

Recording::Recording(Setup setup, std::function<std::int64_t()> now)
    : setup_(std::move(setup)),
      now_(std::move(now)),
      segments_(setup_.path, setup_.window.last_ns, setup_.window.max_bytes) {}

void Recording::attached_anew() {
  correlation_base_ += std::int64_t{1} << 32;
  recorded_on_.clear();
}

void Recording::window_changed(std::int64_t time, bool is_open) {
  openings_ += is_open;
  windows_.add({time, is_open, openings_});
}

void Recording::add(std::uint8_t* buffer, std::size_t size) {
  if (!begun_) begin();
  note_events(buffer, size);
  each(buffer, size, [this](const CUpti_Activity& activity) { record(activity); });
  if (kernels_.rows() + calls_.rows() >= kRowsKept) flush();
}

std::vector<Table*> Recording::tables() {
  return {&shapes_.fresh(), &places_.fresh(), &kernels_, &calls_,     &copies_,
          &waits_,          &allocations_,    &ranges_,  &overheads_, &windows_};
}

void Recording::flush() {
  if (!begun_) return;
  const std::string texts = strings_.taken();
  if (!texts.empty()) segments_.file.add(texts);
  for (Table* const table : tables())
    if (table->rows()) segments_.file.add(table->taken());
  segments_.file.flush();
  if (segments_.is_due(now_())) next_segment();
}

void Recording::next_segment() {
  end_segment("\"continued\": true");
  clear_numbers();
  begin();
}

// Each file can be read without those before it.
void Recording::clear_numbers() {
  strings_.clear();
  places_.clear();
  shapes_.clear();
}

void Recording::begin() {
  begun_ = true;
  if (!segments_.open_next(now_())) return;
  if (devices_.empty()) devices_ = device_properties();
  const Process& process = setup_.process;
  std::string out = "{\"recorder\": \"rocm-perf cupti\", \"host\": ";
  append_quoted(out, process.host);
  append_number(out += ", \"pid\": ", process.pid);
  if (!process.rank.empty()) out += ", \"rank\": " + std::to_string(std::stol(process.rank));
  append_quoted(out += ", \"command\": ", process.command);
  append_quoted(out += ", \"domains\": ", setup_.domains);
  append_number(out += ", \"cupti_time_ns\": ", setup_.start.cupti_ns);
  append_number(out += ", \"boot_time_ns\": ", setup_.start.boot_ns);
  append_number(out += ", \"epoch_time_ns\": ", setup_.start.epoch_ns);
  append_number(out += ", \"segment\": ", static_cast<std::int64_t>(segments_.number()));
  if (setup_.window.recurs()) {
    append_number(out += ", \"window_ns\": ", setup_.window.open_ns);
    append_number(out += ", \"period_ns\": ", setup_.window.period_ns);
  }
  out += ", \"refusals\": [";
  for (std::size_t i = 0; i < refusals_.size(); ++i) append_quoted(out += i ? ", " : "", refusals_[i]);
  out += "], \"devices\": " + devices_;
  append_number(out += ", \"cupti_version\": ", setup_.cupti_version);
  append_number(out += ", \"cuda_driver_version\": ", driver_version());
  segments_.file.add(out + "}");
  segments_.file.flush();
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
  ++records_;
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
  const std::int64_t shape =
      shapes_.number({kernel.registersPerThread, std::int64_t{kernel.staticSharedMemory} + kernel.dynamicSharedMemory,
                      kernel.gridX, kernel.gridY, kernel.gridZ, kernel.blockX, kernel.blockY, kernel.blockZ});
  kernels_.add({number(kernel.start), length(kernel), correlation_base_ + kernel.correlationId,
                strings_.number(shown(kernel.name)), place(kernel.deviceId, kernel.contextId, kernel.streamId), shape});
}

void Recording::copy(const CUpti_ActivityMemcpy& copy) {
  if (!timed(copy.start, copy.end)) return;
  copies_.add({number(copy.start), length(copy), correlation_base_ + copy.correlationId,
               strings_.number(copy_name(copy.copyKind, copy.srcKind, copy.dstKind)),
               place(copy.deviceId, copy.contextId, copy.streamId), number(copy.bytes), kNobody, kNobody});
}

void Recording::peer_copy(const CUpti_ActivityMemcpyPtoP& copy) {
  if (!timed(copy.start, copy.end)) return;
  copies_.add({number(copy.start), length(copy), correlation_base_ + copy.correlationId,
               strings_.number(copy_name(copy.copyKind, copy.srcKind, copy.dstKind)),
               place(copy.deviceId, copy.contextId, copy.streamId), number(copy.bytes), copy.srcDeviceId,
               copy.dstDeviceId});
}

void Recording::fill(const CUpti_ActivityMemset& fill) {
  if (!timed(fill.start, fill.end)) return;
  const std::string name = std::string("Memset (") + word(kMemories, fill.memoryKind) + ")";
  copies_.add({number(fill.start), length(fill), correlation_base_ + fill.correlationId, strings_.number(name),
               place(fill.deviceId, fill.contextId, fill.streamId), number(fill.bytes), kNobody, kNobody});
}

void Recording::call(const CUpti_ActivityAPI& call) {
  if (call.threadId != last_caller_) callers_.insert(last_caller_ = call.threadId);
  const bool runtime = call.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  const std::string& name = (runtime ? runtime_ : driver_).name(call.cbid);
  const bool wanted = setup_.every_call || (runtime ? is_needed(name) : is_work(name));
  if (name.empty() || !wanted || !timed(call.start, call.end)) return;
  calls_.add({number(call.start), length(call), correlation_base_ + call.correlationId, strings_.number(name),
              call.threadId, call.returnValue});
}

void Recording::synchronization(const CUpti_ActivitySynchronization& wait) {
  const auto type = static_cast<std::size_t>(wait.type);
  if (type == 0 || type >= kWaits.size() || !timed(wait.start, wait.end)) return;
  const auto known = device_of_.find(wait.contextId);
  const std::int64_t device = known == device_of_.end() ? 0 : known->second;
  waits_.add({number(wait.start), length(wait), correlation_base_ + wait.correlationId, strings_.number(kWaits[type]),
              device, signed_stream(wait.streamId), waited_stream(wait)});
}

// The stream on which the event had last been recorded when the wait was asked for.
std::int64_t Recording::waited_stream(const CUpti_ActivitySynchronization& wait) const {
  const auto records = recorded_on_.find({wait.contextId, wait.cudaEventId});
  if (wait.cudaEventId == kNone || records == recorded_on_.end()) return kNobody;
  std::pair<std::uint32_t, std::int64_t> latest{0, kNobody};
  for (const auto& [correlation, stream] : records->second)
    if (correlation < wait.correlationId && correlation >= latest.first) latest = {correlation, stream};
  return latest.second;
}

void Recording::allocation(const CUpti_ActivityMemory2& memory) {
  const bool release = memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  const bool taken = memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  const bool of_host = memory.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED ||
                       memory.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  if (!(release || taken) || memory.timestamp == 0) return;
  allocations_.add({number(memory.timestamp), release ? -number(memory.bytes) : number(memory.bytes),
                    number(memory.address), memory.deviceId, of_host});
}

void Recording::marker(const CUpti_ActivityMarker2& marker) {
  const auto flags = static_cast<std::uint32_t>(marker.flags);
  if (flags & CUPTI_ACTIVITY_FLAG_MARKER_END) {
    const auto begun = open_ranges_.find(marker.id);
    if (begun == open_ranges_.end()) return;
    range(begun->second, marker.timestamp);
    open_ranges_.erase(begun);
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
  ranges_.add({number(range.start), number(end - range.start), range.thread, strings_.number(range.name),
               strings_.number(range.domain)});
}

void Recording::overhead(const CUpti_ActivityOverhead& overhead) {
  if (!timed(overhead.start, overhead.end)) return;
  const bool thread = overhead.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD;
  overheads_.add({number(overhead.start), length(overhead), thread ? overhead.objectId.pt.threadId : 0,
                  strings_.number(overhead_name(overhead.overheadKind))});
}

// A record that was flushed before its activity had ended has no times.
bool Recording::timed(std::uint64_t start, std::uint64_t end) {
  const bool complete = start != 0 && end >= start;
  if (complete) last_ns_ = std::max(last_ns_, end);
  incomplete_ += !complete;
  return complete && segments_.file.is_open();
}

std::int64_t Recording::place(std::uint32_t device, std::uint32_t context, std::uint32_t stream) {
  device_of_[context] = device;  // also of one that was made when CUPTI was not there to tell
  return places_.number({device, context, stream});
}

std::string_view Recording::shown(const char* kernel) {
  if (!kernel) return "unnamed kernel";
  if (demangled_.size() >= kMostNames) demangled_.clear();
  const auto [entry, is_new] = demangled_.try_emplace(kernel);
  if (is_new) entry->second = demangled(kernel);
  return entry->second;
}

void Recording::end_segment(const std::string& facts) {
  segments_.file.add("{\"end\": {" + facts + "}}");
  segments_.file.close();
}

void Recording::finish(const Ending& ending) {
  if (!begun_ && !(ending.window.empty() && ending.stopped.empty()))
    begin();  // the reason is all that there is to tell
  if (!segments_.file.is_open()) return;
  const std::size_t unended = open_ranges_.size();
  for (const auto& [id, range_] : open_ranges_) range(range_, std::max(last_ns_, range_.start));
  open_ranges_.clear();
  flush();
  std::string facts;
  append_number(facts += "\"dropped_records\": ", static_cast<std::int64_t>(ending.dropped));
  append_number(facts += ", \"incomplete_records\": ", static_cast<std::int64_t>(incomplete_));
  append_number(facts += ", \"unended_ranges\": ", static_cast<std::int64_t>(unended));
  append_number(facts += ", \"signal\": ", ending.signal);
  append_quoted(facts += ", \"window\": ", ending.window);
  append_quoted(facts += ", \"stopped\": ", ending.stopped);
  end_segment(facts);
}

}  // namespace rocm_perf
