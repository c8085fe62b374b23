// DPP: the first source of a vector instruction, taken from other lanes.
#pragma once

#include "softgpu/wave.h"

namespace rocm_perf::softgpu {

// Moves the values of lanes; a lane without a source gets 0.
void move_lanes(const Wave& wave, const LaneMoves& moves, Register& values);

// The lanes that the instruction may write.
uint64_t written_lanes(const Wave& wave, const LaneMoves& moves);

}  // namespace rocm_perf::softgpu
