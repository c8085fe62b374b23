// Executes a dispatch: the door to this folder. Memory, code and dispatch come in, memory is changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softgpu/counts.h"
#include "softgpu/launch.h"

namespace rocm_perf::softgpu {

struct Limits {
  unsigned threads = 1;          // of this machine
  std::uint64_t timeout_ms = 0;  // 0: none
};

struct Outcome {
  std::string error;  // empty: all workgroups ran to their end
  bool is_timeout = false;
  std::uint64_t workgroups = 0, waves = 0, instructions = 0, lane_instructions = 0;
};

// Runs these workgroups (all, where none are named) to their end, or until the first failure. `counts` is filled
// where it is given; its entries are those of program.instructions.
Outcome execute(const Program& program, const Memory& memory, const Dispatch& dispatch, const Limits& limits,
                const std::vector<std::uint64_t>& workgroups = {}, Counts* counts = nullptr);

}  // namespace rocm_perf::softgpu
