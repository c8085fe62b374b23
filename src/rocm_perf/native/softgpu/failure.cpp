#include "softgpu/failure.h"

#include "common/text.h"

namespace rocm_perf::softgpu {

ExecutionError failed_at(const Instruction& instruction, const std::string& what) {
  return ExecutionError("`" + instruction.text + "` at 0x" + hex(instruction.pc) + ": " + what);
}

void fail_unknown(Wave&, const Instruction& instruction) {
  throw failed_at(instruction, "this instruction is not known to the executor");
}

void fail_outside_code(Wave&, const Instruction& instruction) {
  throw failed_at(instruction, "it jumps to where no code was disassembled");
}

}  // namespace rocm_perf::softgpu
