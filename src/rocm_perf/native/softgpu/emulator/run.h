// From a plan to an answer.
#pragma once

#include <string>

#include "softgpu/emulator/answer.h"

namespace rocm_perf::softgpu {

Answer run_plan(const std::string& path);

}  // namespace rocm_perf::softgpu
