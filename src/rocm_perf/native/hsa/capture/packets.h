// AQL packets, and a batch of them split around one dispatch.
#pragma once

#include <cstdint>
#include <vector>

#include "hsa/api.h"

namespace rocm_perf {

union Packet {
  std::uint16_t header;
  hsa_kernel_dispatch_packet_t dispatch;
  hsa_barrier_and_packet_t barrier;
};
static_assert(sizeof(Packet) == 64, "an AQL packet is 64 bytes");

bool is_dispatch(const Packet& packet);

Packet packet_of(const hsa_barrier_and_packet_t& barrier);

struct Barriers {
  hsa_signal_t drained{}, go{}, done{}, release{};
};

// One write for the whole batch, with barriers that are opened one by one: runtimes before ROCm 6 allow only one. The
// program is told of the kernel's end only when its result is saved.
std::vector<Packet> with_barriers(const std::vector<Packet>& packets, std::uint64_t index, const Barriers& signals);

}  // namespace rocm_perf
