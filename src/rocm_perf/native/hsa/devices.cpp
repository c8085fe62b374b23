#include "hsa/devices.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace rocm_perf {

Devices::Devices(const Api& api) : api_(api) {
  check(api_, api_.hsa_iterate_agents(on_agent, this), "cannot list the HSA agents");
}

const Pool* Devices::find(std::uint64_t handle) const {
  auto known = pools_.find(handle);
  return known == pools_.end() ? nullptr : &known->second;
}

int Devices::index_of(hsa_agent_t agent) const {
  for (std::size_t index = 0; index < gpus_.size(); ++index)
    if (gpus_[index].agent.handle == agent.handle) return static_cast<int>(index);
  return -1;
}

char* Devices::host_memory(std::size_t size, hsa_amd_memory_pool_t pool) const {
  void* memory = nullptr;
  check(api_, api_.hsa_amd_memory_pool_allocate(pool, size, 0, &memory), "no host memory");
  std::vector<hsa_agent_t> agents;
  for (const Device& gpu : gpus_) agents.push_back(gpu.agent);
  check(api_,
        api_.hsa_amd_agents_allow_access(static_cast<std::uint32_t>(agents.size()), agents.data(), nullptr, memory),
        "the GPU cannot reach host memory");
  return static_cast<char*>(memory);
}

hsa_status_t Devices::add(hsa_agent_t agent) {
  hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
  api_.hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_CPU && type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  if (type == HSA_DEVICE_TYPE_CPU && host_.handle == 0) host_ = agent;
  if (type == HSA_DEVICE_TYPE_GPU) gpus_.push_back(described(agent));
  Walk walk{this, agent, type == HSA_DEVICE_TYPE_GPU ? static_cast<int>(gpus_.size()) - 1 : -1};
  api_.hsa_amd_agent_iterate_memory_pools(agent, on_pool, &walk);
  api_.hsa_agent_iterate_regions(agent, on_region, &walk);
  return HSA_STATUS_SUCCESS;
}

Device Devices::described(hsa_agent_t agent) const {
  const auto product = static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_PRODUCT_NAME);
  const auto uuid = static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_UUID);
  Device out;
  out.agent = agent;
  out.gfx = text(agent, HSA_AGENT_INFO_NAME);
  out.name = text(agent, product);
  out.uuid = text(agent, uuid);
  return out;
}

std::string Devices::text(hsa_agent_t agent, hsa_agent_info_t what) const {
  char words[256] = "";
  bool known = api_.hsa_agent_get_info(agent, what, words) == HSA_STATUS_SUCCESS;
  return known ? std::string(words, ::strnlen(words, sizeof words)) : "";
}

hsa_status_t Devices::on_pool(hsa_amd_memory_pool_t pool, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  walk.self->add_pool(pool, walk);
  return HSA_STATUS_SUCCESS;
}

void Devices::add_pool(hsa_amd_memory_pool_t pool, const Walk& walk) {
  hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GLOBAL;
  std::uint32_t flags = 0;
  std::size_t size = 0;
  api_.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return;
  api_.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  api_.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size);
  bool kernarg = flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
  pools_[pool.handle] = {walk.device, kernarg};
  if (walk.device >= 0 && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)) {
    Device& gpu = gpus_[static_cast<std::size_t>(walk.device)];
    gpu.memory = pool;
    gpu.memory_bytes = std::max<std::uint64_t>(gpu.memory_bytes, size);
  }
  if (walk.device >= 0 || walk.agent.handle != host_.handle) return;
  if (kernarg) kernarg_pool_ = pool;
  if (!kernarg || host_pool_.handle == 0) host_pool_ = pool;
}

hsa_status_t Devices::on_region(hsa_region_t region, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  hsa_region_global_flag_t flags{};
  walk.self->api_.hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags);
  walk.self->pools_[region.handle] = {walk.device, (flags & HSA_REGION_GLOBAL_FLAG_KERNARG) != 0};
  return HSA_STATUS_SUCCESS;
}

Copier::Copier(const Api& api, const Devices& devices) : api_(api), devices_(devices) {
  check(api_, api_.hsa_signal_create(1, 0, nullptr, &done_), "no signal");
}

void Copier::to_host(void* to, std::uint64_t from, std::size_t size, hsa_agent_t gpu) const {
  copy(to, devices_.host(), reinterpret_cast<const void*>(from), gpu, size);
}

void Copier::to_device(std::uint64_t to, const void* from, std::size_t size, hsa_agent_t gpu) const {
  copy(reinterpret_cast<void*>(to), gpu, from, devices_.host(), size);
}

void Copier::on_device(std::uint64_t to, std::uint64_t from, std::size_t size, hsa_agent_t gpu) const {
  copy(reinterpret_cast<void*>(to), gpu, reinterpret_cast<const void*>(from), gpu, size);
}

void Copier::copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, std::size_t size) const {
  if (size == 0) return;
  api_.hsa_signal_store_screlease(done_, 1);
  check(api_, api_.hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, nullptr, done_),
        "cannot copy " + std::to_string(size) + " bytes");
  hsa_signal_value_t left =
      api_.hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  if (left < 0) throw std::runtime_error("a copy of " + std::to_string(size) + " bytes failed");
}

}  // namespace rocm_perf
