// What the driver says of the GPUs.
#pragma once

#include <string>

namespace rocm_perf {

// The value of Kineto's deviceProperties, with the clock and the UUID beside it; [] where the driver does not answer.
std::string device_properties();
int contexts();        // of the GPUs that the process uses; 1 where the driver does not answer
bool finish_work();    // waits until its GPU has nothing left to do; false where it uses several, or one failed
int driver_version();  // 13000 for CUDA 13.0; 0 if it is not known

}  // namespace rocm_perf
