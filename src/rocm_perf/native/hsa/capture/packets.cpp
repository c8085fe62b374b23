#include "hsa/capture/packets.h"

#include <cstddef>

namespace rocm_perf {

bool is_dispatch(const Packet& packet) {
  return ((packet.header >> HSA_PACKET_HEADER_TYPE) & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
}

Packet packet_of(const hsa_barrier_and_packet_t& barrier) {
  Packet out{};
  out.barrier = barrier;
  return out;
}

std::vector<Packet> with_barriers(const std::vector<Packet>& packets, std::uint64_t index, const Barriers& signals) {
  auto middle = packets.begin() + static_cast<std::ptrdiff_t>(index);
  std::vector<Packet> out(packets.begin(), middle);
  Packet target = *middle;
  target.dispatch.completion_signal = {0};
  out.push_back(packet_of(barrier({0}, signals.drained)));
  out.push_back(packet_of(barrier(signals.go, {0})));
  out.push_back(target);
  out.push_back(packet_of(barrier({0}, signals.done)));
  out.push_back(packet_of(barrier(signals.release, middle->dispatch.completion_signal)));
  out.insert(out.end(), middle + 1, packets.end());
  return out;
}

}  // namespace rocm_perf
