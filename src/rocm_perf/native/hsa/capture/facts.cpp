#include "hsa/capture/facts.h"

#include <stdexcept>

namespace rocm_perf {

std::string device_json(const Devices& devices, hsa_agent_t agent) {
  int index = devices.index_of(agent);
  if (index < 0) throw std::runtime_error("the queue's agent is not a GPU");
  const Device& gpu = devices.gpus()[static_cast<std::size_t>(index)];
  return "{\"index\": " + std::to_string(index) + ", \"name\": " + quoted(gpu.name) + ", \"gfx\": " + quoted(gpu.gfx) +
         ", \"uuid\": " + quoted(gpu.uuid) + ", \"memory_bytes\": " + std::to_string(gpu.memory_bytes) + "}";
}

std::string geometry_json(const hsa_kernel_dispatch_packet_t& packet, std::uint32_t declared_lds) {
  auto three = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return "[" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + "]";
  };
  std::uint32_t lds = packet.group_segment_size;
  return "\"grid\": " + three(packet.grid_size_x, packet.grid_size_y, packet.grid_size_z) +
         ", \"workgroup\": " + three(packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z) +
         ", \"dynamic_lds_bytes\": " + std::to_string(lds > declared_lds ? lds - declared_lds : 0) +
         ", \"group_segment_bytes\": " + std::to_string(lds) +
         ", \"private_segment_bytes\": " + std::to_string(packet.private_segment_size);
}

std::string runtime_version(const Api& api) {
  std::uint16_t major = 0, minor = 0;
  api.hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  api.hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  return "HSA " + std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace rocm_perf
