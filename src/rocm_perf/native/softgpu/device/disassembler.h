// Machine code as text, by LLVM's own disassembler: the library that came with the runtimes is loaded when the first
// kernel runs.
#pragma once
#include <cstdint>
#include <string>

namespace rocm_perf::softgpu::device {

// The instructions of a range, one a line, as llvm-objdump lists them: "\ttext // ADDRESS: WORDS".
std::string listing(std::uint64_t address, std::uint64_t size, const std::string& isa);

}  // namespace rocm_perf::softgpu::device
