// Whole files of a snapshot, for the runners.
#pragma once

#include <string>
#include <vector>

#include "common/file.h"
#include "replay/plan.h"

namespace rocm_perf {

std::vector<char> whole(const std::string& path);

}  // namespace rocm_perf
