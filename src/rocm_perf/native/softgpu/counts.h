// What is counted of each instruction of a program, over all waves that executed it.
#pragma once

#include <cstdint>
#include <vector>

namespace rocm_perf::softgpu {

struct Count {
  std::uint64_t executions = 0;     // by a wave
  std::uint64_t lanes = 0;          // that were active, added up
  std::uint64_t bytes = 0;          // that the lanes asked for (memory and LDS instructions)
  std::uint64_t lines_64 = 0;       // distinct lines of 64 bytes in each execution, added up (memory, not LDS)
  std::uint64_t lines_128 = 0;      // and of 128 bytes
  std::uint64_t scratch_bytes = 0;  // of `bytes`, those in the lanes' own memory, whichever instruction asks for them
  std::uint64_t lds_cycles = 0;     // of the banks, conflicts included
  std::uint64_t lds_conflicts = 0;  // cycles that a conflict-free order of the same lanes would not have taken
  std::uint64_t same_address = 0;   // atomics: lanes whose address another lane of the execution had before them

  void add(const Count& other);
};

using Counts = std::vector<Count>;  // by the instruction's number in its program

}  // namespace rocm_perf::softgpu
