// The plan of an emulation: lines `word values...`, a file's name last. Python writes it (softgpu/plan.py).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softgpu/launch.h"

namespace rocm_perf::softgpu {

struct PlannedRegion {
  std::uint64_t base = 0, size = 0, offset = 0;  // the offset is the file's
  bool is_writable = true;
  std::string file;  // `-`: zeros
};

struct PlannedDump {
  std::uint64_t base = 0, size = 0;
  std::string file;
};

struct Plan {
  std::string isa, listing;
  std::uint64_t bias = 0;  // what is added to the listing's addresses
  std::vector<PlannedRegion> regions;
  std::vector<PlannedDump> dumps;
  std::vector<std::uint64_t> workgroups;  // none: all
  Dispatch dispatch;
  unsigned threads = 1;
  std::uint64_t timeout_ms = 0;
  bool is_counting = false;
};

Plan read_plan(const std::string& path);  // throws PlanError

}  // namespace rocm_perf::softgpu
