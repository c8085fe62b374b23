// Where the device hands kernels to the executor of machine code.
#pragma once
#include "softgpu/device/aql.h"

namespace rocm_perf::softgpu::device {

// Runs the kernel of a packet to its end; `queue` is the address of ROCr's own record of the queue, which a kernel may
// ask for. What cannot be executed ends the program, with the reason.
void run_kernel(const DispatchPacket& packet, std::uint64_t queue, int gpu);

}  // namespace rocm_perf::softgpu::device
