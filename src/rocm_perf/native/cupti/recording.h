// CUPTI's activity records as the events of a trace, in the shape that torch.profiler writes for CUDA.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cupti/calls.h"
#include "cupti/process.h"
#include "cupti/trace_file.h"

namespace rocm_perf {

// One moment on three clocks. CUPTI's own is CLOCK_REALTIME on most systems, CLOCK_MONOTONIC_RAW on WSL.
struct Moment {
  std::int64_t cupti_ns = 0;
  std::int64_t epoch_ns = 0;
  std::int64_t boot_ns = 0;
};

Moment now();

struct Setup {
  std::string path;
  Process process;
  std::string domains;
  bool every_driver_call = false;
  Moment start;
  std::vector<std::string> problems;  // kinds of records that CUPTI would not give
};

class Recording {
 public:
  explicit Recording(Setup setup) : setup_(std::move(setup)) {}
  void describe_devices();  // asks the driver; before the first record
  void context(std::uint32_t id, std::uint32_t device) { device_of_[id] = device; }
  void add(std::uint8_t* buffer, std::size_t size);  // all records of one buffer; the file grows by them
  void finish(std::uint64_t dropped, int signal);    // the end of the document
  const std::string& error() const { return file_.error(); }

 private:
  void begin();
  void note_events(std::uint8_t* buffer, std::size_t size);
  void record(const CUpti_Activity& activity);
  void kernel(const CUpti_ActivityKernel4& kernel);
  void copy(const CUpti_ActivityMemcpy& copy);
  void peer_copy(const CUpti_ActivityMemcpyPtoP& copy);
  void fill(const CUpti_ActivityMemset& fill);
  void call(const CUpti_ActivityAPI& call);
  void synchronization(const CUpti_ActivitySynchronization& wait);
  void allocation(const CUpti_ActivityMemory2& memory);
  void marker(const CUpti_ActivityMarker2& marker);
  void overhead(const CUpti_ActivityOverhead& overhead);

  bool timed(std::uint64_t start, std::uint64_t end);
  void open(std::string_view category, std::string_view name, std::int64_t pid, std::int64_t tid, std::uint64_t start);
  void duration(std::uint64_t start, std::uint64_t end);
  void on_gpu(std::uint32_t device, std::uint32_t context, std::uint32_t stream, std::uint32_t correlation);
  void argument(const char* name, std::int64_t value);
  void close_event() { file_.text += "}}"; }
  void metadata(const char* what, std::int64_t pid, std::int64_t tid, std::string_view name);
  std::int64_t waited_stream(const CUpti_ActivitySynchronization& wait) const;
  const std::string& shown(const char* kernel);

  struct Range {
    std::string name;
    std::string domain;
    std::uint64_t start = 0;
    std::uint32_t thread = 0;
  };
  void range(const Range& range, std::uint64_t end);

  Setup setup_;
  TraceFile file_;
  std::string devices_ = "[]";
  Calls runtime_{CUPTI_CB_DOMAIN_RUNTIME_API};
  Calls driver_{CUPTI_CB_DOMAIN_DRIVER_API};
  std::unordered_map<std::string, std::string> kernels_;
  std::unordered_map<std::uint32_t, Range> open_ranges_;
  std::map<std::uint32_t, std::uint32_t> device_of_;  // by context
  // By context and event: (correlation of the record, stream), the last few.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<std::uint32_t, std::uint32_t>>> recorded_on_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> streams_;
  std::uint64_t events_ = 0;
  std::uint64_t incomplete_ = 0;
  std::uint64_t last_ns_ = 0;
  bool begun_ = false;
};

}  // namespace rocm_perf
