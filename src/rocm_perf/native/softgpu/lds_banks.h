// How many cycles the banks of LDS take for an access.
#pragma once

#include "softgpu/address.h"

namespace rocm_perf::softgpu {

void note_banks(const Wave& wave, const Addresses& addresses, uint64_t size, const Instruction& instruction,
                Count& count);

}  // namespace rocm_perf::softgpu
