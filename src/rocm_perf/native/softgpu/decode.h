// A program: the instructions that LLVM's disassembler printed, bound to what executes them.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <unordered_map>
#include <vector>

#include "softgpu/instruction.h"
#include "softgpu/wave.h"

namespace rocm_perf::softgpu {

struct Program {
  std::string isa;  // gfx942
  Family family = Family::kGfx9;
  std::vector<Instruction> instructions;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;  // of instructions, by address
  int vector_registers = 0;                                  // that any of them names, AGPRs counted from 256 on
};

// Takes what `llvm-objdump -d` printed, each address moved by `bias`. An instruction that is not known, or a modifier
// that is not, becomes one that fails when it is executed.
Program decode(std::istream& listing, const std::string& isa, std::uint64_t bias);

}  // namespace rocm_perf::softgpu
