// Bandwidth of the device memory, the L2 and the LDS (shared memory).
#pragma once

#include "ceilings/chip.h"

namespace rocm_perf {

void measure_memory(const Chip& chip);

}  // namespace rocm_perf
