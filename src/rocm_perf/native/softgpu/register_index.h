// Vector registers whose numbers are known only when the instruction runs.
#pragma once

#include "softgpu/wave.h"

namespace rocm_perf::softgpu {

// Runs a vector instruction between s_set_gpr_idx_on and s_set_gpr_idx_off: M0 is added to its registers' numbers.
void run_indexed(Wave& wave, const Instruction& instruction);

}  // namespace rocm_perf::softgpu
