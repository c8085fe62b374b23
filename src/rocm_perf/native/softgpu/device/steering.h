// Where memory may lie that a GPU is to reach.
#pragma once
#include <cstddef>
#include <functional>

namespace rocm_perf::softgpu::device {

// GPUs reach 47 bits of address: all that x86-64 gives to programs, and half of what aarch64 gives them.
bool is_within_reach(const void* address, std::size_t size);

// What `map` returns for the first address, from the highest within reach downwards, at which it maps. The last failure
// where there is none.
void* mapped_within_reach(std::size_t size, const std::function<void*(void*)>& map);

}  // namespace rocm_perf::softgpu::device
