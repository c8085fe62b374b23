#include "hsa/api.h"

#include <stdexcept>

namespace rocm_perf {

void check(const Api& api, hsa_status_t status, const std::string& what) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  const char* words = nullptr;
  if (api.hsa_status_string) api.hsa_status_string(status, &words);
  throw std::runtime_error(what + ": " + (words ? words : "HSA status 0x" + hex(status)));
}

hsa_barrier_and_packet_t barrier(hsa_signal_t after, hsa_signal_t completes) {
  hsa_barrier_and_packet_t packet{};
  packet.header = static_cast<std::uint16_t>((HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE) |
                                             (1 << HSA_PACKET_HEADER_BARRIER) | kSystemFences);
  packet.dep_signal[0] = after;
  packet.completion_signal = completes;
  return packet;
}

}  // namespace rocm_perf
