// What the emulator answers: one JSON object on stdout (softgpu/answer.py has its types).
#pragma once

#include <string>

#include "softgpu/execute.h"

namespace rocm_perf::softgpu {

enum Exit { kDone = 0, kBadPlan = 10, kFailed = 14, kUnreadable = 16, kUnwritable = 17, kTimeout = 18 };

struct Answer {
  Exit exit_code = kDone;
  std::string error;
  Outcome outcome;
  double seconds = 0, cpu_seconds = 0;  // of the execution alone; the second of all threads, added up
  int wave_size = 0;
  Counts counts;
  Footprint::Lines lines;
  std::vector<std::uint64_t> addresses;  // of the counted instructions

  void print() const;
};

}  // namespace rocm_perf::softgpu
