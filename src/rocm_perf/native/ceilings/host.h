// What the host pays: launches, waits, and copies to and from the GPU.
#pragma once

namespace rocm_perf {

void measure_launches();
void measure_host_link();

}  // namespace rocm_perf
