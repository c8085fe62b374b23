// What a capture says of the machine and the dispatch, as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "hsa/devices.h"

namespace rocm_perf {

std::string device_json(const Devices& devices, hsa_agent_t agent);

// A packet's LDS is what the kernel declares and what the launch adds.
std::string geometry_json(const hsa_kernel_dispatch_packet_t& packet, std::uint32_t declared_lds);

std::string runtime_version(const Api& api);

}  // namespace rocm_perf
