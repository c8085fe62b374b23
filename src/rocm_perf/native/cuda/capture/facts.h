// What a capture says of the machine and the launch, as JSON.
#pragma once

#include <string>

#include "capture/account.h"
#include "cuda/capture/launch.h"

namespace rocm_perf {

std::string dispatch_json(const Launch& launch, const std::string& symbol, const Target& target, const Layout& layout,
                          std::size_t arguments);

}  // namespace rocm_perf
