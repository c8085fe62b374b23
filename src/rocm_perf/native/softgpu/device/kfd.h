// The kernel driver's calls on /dev/kfd.
#pragma once

namespace rocm_perf::softgpu::device {

bool is_driver_call(unsigned long request);

// 0, or the error's number.
int driver_call(unsigned long request, void* arguments);

}  // namespace rocm_perf::softgpu::device
