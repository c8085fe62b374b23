// Which files belong to the device.
#pragma once
#include <string>

namespace rocm_perf::softgpu::device {

// Whether a path is one of the device's own files: /dev/kfd, and the render node of each GPU.
bool is_device_path(const char* path);

// Where a path of the driver's description of its GPUs lies; empty for every other path.
std::string described_path(const char* path);

}  // namespace rocm_perf::softgpu::device
