// The HSA calls that capture and replay make, each by its own name, and the types that older headers do not have yet.
#pragma once
#ifndef AMD_INTERNAL_BUILD
#define AMD_INTERNAL_BUILD
#endif
#if !__has_include(<hsa/hsa_api_trace.h>)
#error "the HSA headers are missing: install ROCm's hsa-rocr-dev, or libhsa-runtime-dev on Debian and Ubuntu"
#endif
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <string>

#include "common/text.h"

namespace rocm_perf {

#define ROCM_PERF_CORE_CALLS(X)                \
  X(hsa_iterate_agents)                        \
  X(hsa_agent_get_info)                        \
  X(hsa_agent_iterate_regions)                 \
  X(hsa_region_get_info)                       \
  X(hsa_system_get_info)                       \
  X(hsa_status_string)                         \
  X(hsa_signal_create)                         \
  X(hsa_signal_destroy)                        \
  X(hsa_signal_load_scacquire)                 \
  X(hsa_signal_store_screlease)                \
  X(hsa_signal_wait_scacquire)                 \
  X(hsa_signal_add_scacq_screl)                \
  X(hsa_queue_create)                          \
  X(hsa_queue_destroy)                         \
  X(hsa_queue_load_read_index_scacquire)       \
  X(hsa_queue_load_write_index_relaxed)        \
  X(hsa_queue_add_write_index_scacq_screl)     \
  X(hsa_queue_cas_write_index_scacq_screl)     \
  X(hsa_code_object_reader_create_from_memory) \
  X(hsa_executable_create_alt)                 \
  X(hsa_executable_load_agent_code_object)     \
  X(hsa_executable_freeze)                     \
  X(hsa_executable_get_symbol_by_name)         \
  X(hsa_executable_symbol_get_info)            \
  X(hsa_executable_iterate_agent_symbols)

#define ROCM_PERF_AMD_CALLS(X)          \
  X(hsa_amd_agent_iterate_memory_pools) \
  X(hsa_amd_memory_pool_get_info)       \
  X(hsa_amd_memory_pool_allocate)       \
  X(hsa_amd_memory_pool_free)           \
  X(hsa_amd_memory_async_copy)          \
  X(hsa_amd_agents_allow_access)

struct Api {
#define X(name) decltype(::name)* name = nullptr;
  ROCM_PERF_CORE_CALLS(X)
  ROCM_PERF_AMD_CALLS(X)
#undef X
};

// Virtual memory, since table 2 (ROCm 6): the same layout in memory as the header's own types.
struct VmemHandle {
  std::uint64_t handle;
};
struct VmemAccess {
  hsa_access_permission_t permissions;
  hsa_agent_t agent;
};
using VmemReserve = hsa_status_t(void** address, std::size_t size, std::uint64_t wanted, std::uint64_t flags);
using VmemFree = hsa_status_t(void* address, std::size_t size);
using VmemCreate = hsa_status_t(hsa_amd_memory_pool_t pool, std::size_t size, std::uint32_t type, std::uint64_t flags,
                                VmemHandle* handle);
using VmemRelease = hsa_status_t(VmemHandle handle);
using VmemMap = hsa_status_t(void* address, std::size_t size, std::size_t offset, VmemHandle handle,
                             std::uint64_t flags);
using VmemUnmap = hsa_status_t(void* address, std::size_t size);
using VmemSetAccess = hsa_status_t(void* address, std::size_t size, const VmemAccess* access, std::size_t count);
using VmemImport = hsa_status_t(int file, VmemHandle* handle);

// Says what went wrong in the runtime's own words.
void check(const Api& api, hsa_status_t status, const std::string& what);

constexpr std::uint16_t kSystemFences = (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE) |
                                        (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);

// Waits for what came before it in its queue and for `after`, then counts `completes` down. Null signals are none.
hsa_barrier_and_packet_t barrier(hsa_signal_t after, hsa_signal_t completes);

}  // namespace rocm_perf
