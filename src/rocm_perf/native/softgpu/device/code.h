// Where the instructions of a kernel lie.
#pragma once
#include <cstdint>
#include <string>

#include "softgpu/device/range.h"

namespace rocm_perf::softgpu::device {

// The code of which the instruction at this address is a part: what the code object says is executable, in which the
// loader has put it; of code that came without one, all that follows.
Range code_around(std::uint64_t address);

// The name of the kernel whose descriptor lies at this address, as its code object has it; else the address.
std::string kernel_name(std::uint64_t descriptor);

}  // namespace rocm_perf::softgpu::device
