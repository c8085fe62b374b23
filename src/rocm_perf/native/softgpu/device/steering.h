// Where memory may lie that a GPU is to reach.
#pragma once
#include <cstddef>

namespace rocm_perf::softgpu::device {

// The address to ask the system for, in place of "anywhere". GPUs reach 47 bits of address: all that x86-64 gives to
// programs, and half of what aarch64 gives them. Bare reservations, as the runtime makes them, are steered there.
void* within_reach(void* address, std::size_t size, int protection, int file);

}  // namespace rocm_perf::softgpu::device
