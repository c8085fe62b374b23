// The machine as HSA shows it: GPUs in their order, the memory pools, and copies between a GPU and the host.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "hsa/api.h"

namespace rocm_perf {

struct Device {
  hsa_agent_t agent{};
  hsa_amd_memory_pool_t memory{};  // coarse-grained: what hipMalloc takes
  std::uint64_t memory_bytes = 0;
  std::string gfx, name, uuid;
};

// Where an allocation of a pool (or of a region, its older name) lies.
struct Pool {
  int device = -1;  // -1: the host's memory
  bool kernarg = false;
};

class Devices {
 public:
  explicit Devices(const Api& api);

  const std::vector<Device>& gpus() const { return gpus_; }
  hsa_agent_t host() const { return host_; }
  hsa_amd_memory_pool_t kernarg_pool() const { return kernarg_pool_; }

  const Pool* find(std::uint64_t handle) const;
  int index_of(hsa_agent_t agent) const;

  // Host memory that every GPU can copy to and from at full speed.
  char* host_memory(std::size_t size, hsa_amd_memory_pool_t pool) const;
  char* staging(std::size_t size) const { return host_memory(size, host_pool_); }

 private:
  static hsa_status_t on_agent(hsa_agent_t agent, void* self) { return static_cast<Devices*>(self)->add(agent); }

  hsa_status_t add(hsa_agent_t agent);
  Device described(hsa_agent_t agent) const;
  std::string text(hsa_agent_t agent, hsa_agent_info_t what) const;

  struct Walk {
    Devices* self;
    hsa_agent_t agent;
    int device;
  };

  static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* data);
  void add_pool(hsa_amd_memory_pool_t pool, const Walk& walk);
  static hsa_status_t on_region(hsa_region_t region, void* data);

  Api api_;
  std::vector<Device> gpus_;
  hsa_agent_t host_{};
  hsa_amd_memory_pool_t host_pool_{}, kernarg_pool_{};
  std::unordered_map<std::uint64_t, Pool> pools_;
};

// One copy at a time; both sides must be memory that HSA knows.
class Copier {
 public:
  Copier(const Api& api, const Devices& devices);
  void to_host(void* to, std::uint64_t from, std::size_t size, hsa_agent_t gpu) const;
  void to_device(std::uint64_t to, const void* from, std::size_t size, hsa_agent_t gpu) const;
  void on_device(std::uint64_t to, std::uint64_t from, std::size_t size, hsa_agent_t gpu) const;

 private:
  void copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, std::size_t size) const;

  Api api_;
  const Devices& devices_;
  hsa_signal_t done_{};
};

}  // namespace rocm_perf
