// What the driver says of the GPUs.
#pragma once

#include <string>

namespace rocm_perf {

// The value of Kineto's deviceProperties, with the clock and the UUID beside it; [] where the driver does not answer.
std::string device_properties();
bool has_context();    // whether the process uses a GPU; true where the driver does not answer
int driver_version();  // 13000 for CUDA 13.0; 0 if it is not known

}  // namespace rocm_perf
