// CUPTI's activity records as the tables of a recording.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cupti/calls.h"
#include "cupti/interned.h"
#include "cupti/process.h"
#include "cupti/segments.h"
#include "cupti/table.h"
#include "cupti/window.h"

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
  bool every_call = false;
  std::uint32_t cupti_version = 0;
  Moment start;
  WindowSettings window;
};

// How a recording ended.
struct Ending {
  std::uint64_t dropped = 0;
  int signal = 0;
  std::string window;   // why it never opened, or was not closed
  std::string stopped;  // why recording stopped before the program did
};

class Recording {
 public:
  Recording(Setup setup, std::function<std::int64_t()> now);  // `now` is CUPTI's time
  void context(std::uint32_t id, std::uint32_t device) { device_of_[id] = device; }
  void note_refusals(const std::vector<std::string>& kinds) { refusals_ = kinds; }  // of CUPTI; before the first record
  void window_changed(std::int64_t time, bool is_open);
  void attached_anew();                              // CUPTI counts from the start again
  void add(std::uint8_t* buffer, std::size_t size);  // all records of one buffer
  void flush();                                      // what came is in the file afterwards
  void finish(const Ending& ending);
  bool has_begun() const { return begun_; }
  std::uint64_t records() const { return records_; }  // that CUPTI handed over, also those that are not kept
  const std::set<std::uint32_t>& callers() const { return callers_; }  // the threads that called CUDA
  bool is_full() const { return segments_.is_full(); }
  const std::string& error() const { return segments_.file.error(); }

 private:
  void begin();
  void next_segment();
  void end_segment(const std::string& facts);
  void clear_numbers();
  std::vector<Table*> tables();
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
  std::int64_t place(std::uint32_t device, std::uint32_t context, std::uint32_t stream);
  std::int64_t waited_stream(const CUpti_ActivitySynchronization& wait) const;
  std::string_view shown(const char* kernel);

  struct Range {
    std::string name;
    std::string domain;
    std::uint64_t start = 0;
    std::uint32_t thread = 0;
  };
  void range(const Range& range, std::uint64_t end);

  Setup setup_;
  std::function<std::int64_t()> now_;  // CUPTI itself may be gone when it is asked
  Segments segments_;
  std::string devices_;  // as the driver describes them
  std::vector<std::string> refusals_;
  Calls runtime_{CUPTI_CB_DOMAIN_RUNTIME_API};
  Calls driver_{CUPTI_CB_DOMAIN_DRIVER_API};

  // What is in memory until the next flush; the letters are those of the file.
  Strings strings_;
  Rows<3> places_{'p'};
  Rows<8> shapes_{'g'};
  Table kernels_{'k', 6};
  Table calls_{'c', 6};
  Table copies_{'m', 8};
  Table waits_{'w', 7};
  Table allocations_{'a', 5};
  Table ranges_{'r', 5};
  Table overheads_{'o', 4};
  Table windows_{'v', 3};

  std::set<std::uint32_t> callers_;
  std::uint32_t last_caller_ = 0;
  std::unordered_map<std::string, std::string> demangled_;
  std::unordered_map<std::uint32_t, Range> open_ranges_;
  std::map<std::uint32_t, std::uint32_t> device_of_;  // by context
  // By context and event: (correlation of the record, stream), the last few.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<std::uint32_t, std::uint32_t>>> recorded_on_;
  std::int64_t openings_ = 0;          // of the window
  std::int64_t correlation_base_ = 0;  // added to CUPTI's numbers, so that they differ between attachments
  std::uint64_t records_ = 0;
  std::uint64_t incomplete_ = 0;
  std::uint64_t last_ns_ = 0;
  bool begun_ = false;
};

}  // namespace rocm_perf
