// A piece of the program's memory.
#pragma once
#include <cstdint>

namespace rocm_perf::softgpu::device {

struct Range {
  std::uint64_t start = 0, size = 0;
};

}  // namespace rocm_perf::softgpu::device
