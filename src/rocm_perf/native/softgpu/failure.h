// Why a kernel could not be executed to its end: each says where, and the run ends with it.
#pragma once

#include <stdexcept>
#include <string>

#include "softgpu/wave.h"

namespace rocm_perf::softgpu {

class ExecutionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "`v_foo v0, v1` at 0x7f0010: what".
ExecutionError failed_at(const Instruction& instruction, const std::string& what);

// Handlers of instructions that end the run.
void fail_unknown(Wave& wave, const Instruction& instruction);
void fail_outside_code(Wave& wave, const Instruction& instruction);

}  // namespace rocm_perf::softgpu
