#include "newer.h"

#include "program.h"

extern "C" {
hsa_status_t hsa_amd_queue_create(hsa_agent_t, QueueDescription*, uint32_t);
hsa_status_t hsa_amd_vmem_address_reserve(void**, size_t, uint64_t, uint64_t);
hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t, size_t, uint32_t, uint64_t, uint64_t*);
hsa_status_t hsa_amd_vmem_map(void*, size_t, size_t, uint64_t, uint64_t);
hsa_status_t hsa_amd_vmem_set_access(void*, size_t, const void*, size_t);
}

hsa_queue_t* make_described_queue(hsa_agent_t agent) {
  QueueDescription description{};
  description.queue_size_bytes = 256 * 64;
  description.engine.compute.type = HSA_QUEUE_TYPE_MULTI;
  check(hsa_amd_queue_create(agent, &description, 1), "hsa_amd_queue_create");
  return description.queue;
}

void* map_memory(hsa_amd_memory_pool_t pool, std::size_t size, std::uint64_t wanted) {
  void* address = nullptr;
  std::uint64_t handle = 0;
  check(hsa_amd_vmem_address_reserve(&address, size, wanted, 0), "hsa_amd_vmem_address_reserve");
  check(hsa_amd_vmem_handle_create(pool, size, 0, 0, &handle), "hsa_amd_vmem_handle_create");
  check(hsa_amd_vmem_map(address, size, 0, handle, 0), "hsa_amd_vmem_map");
  check(hsa_amd_vmem_set_access(address, size, nullptr, 0), "hsa_amd_vmem_set_access");
  return address;
}
