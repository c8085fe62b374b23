// Where each AMD call lies in the API table that a tool is given. The table grew, and once (ROCm 6) slots were inserted
// in its middle, so a slot is found by the version words in the table, never by the header of the build alone.
#pragma once

#include <cstddef>
#include <type_traits>

#include "hsa/api.h"

namespace rocm_perf {

// Numbers count slots from 1; 0: the table of that generation has no such slot.
struct Slot {
  int header;  // in the header that we were built with
  int rocm5;   // table 1.0 of 48 calls (ROCm 5.2)
  int rocm6;   // table 2 (ROCm 6 and later); the order that rocprofiler-sdk asserts in its hsa/abi.cpp
};

constexpr int slot_at(std::size_t offset) {
  return static_cast<int>((offset - sizeof(ApiTableVersion)) / sizeof(void*)) + 1;
}

#define ROCM_PERF_SLOT(NAME, ROCM5, ROCM6)                                                                        \
  template <class Table, class = void>                                                                            \
  struct slot_of_##NAME {                                                                                         \
    static constexpr int number = 0;                                                                              \
  };                                                                                                              \
  template <class Table>                                                                                          \
  struct slot_of_##NAME<Table, std::void_t<decltype(Table::NAME##_fn)>> {                                         \
    static constexpr int number = slot_at(offsetof(Table, NAME##_fn));                                            \
  };                                                                                                              \
  constexpr Slot k_##NAME{slot_of_##NAME<AmdExtTable>::number, ROCM5, ROCM6};                                     \
  static_assert(                                                                                                  \
      k_##NAME.header == 0 || HSA_AMD_EXT_API_TABLE_MAJOR_VERSION != 2 || ROCM6 == 0 || k_##NAME.header == ROCM6, \
      #NAME " has moved in these headers");

ROCM_PERF_SLOT(hsa_amd_queue_cu_set_mask, 11, 11)
ROCM_PERF_SLOT(hsa_amd_memory_pool_get_info, 12, 12)
ROCM_PERF_SLOT(hsa_amd_agent_iterate_memory_pools, 13, 13)
ROCM_PERF_SLOT(hsa_amd_memory_pool_allocate, 14, 14)
ROCM_PERF_SLOT(hsa_amd_memory_pool_free, 15, 15)
ROCM_PERF_SLOT(hsa_amd_memory_async_copy, 16, 16)
ROCM_PERF_SLOT(hsa_amd_memory_async_copy_on_engine, 0, 17)
ROCM_PERF_SLOT(hsa_amd_agents_allow_access, 18, 20)
ROCM_PERF_SLOT(hsa_amd_memory_lock, 21, 23)
ROCM_PERF_SLOT(hsa_amd_memory_unlock, 22, 24)
ROCM_PERF_SLOT(hsa_amd_memory_fill, 23, 25)
ROCM_PERF_SLOT(hsa_amd_interop_map_buffer, 24, 26)
ROCM_PERF_SLOT(hsa_amd_interop_unmap_buffer, 25, 27)
ROCM_PERF_SLOT(hsa_amd_image_create, 26, 28)
ROCM_PERF_SLOT(hsa_amd_ipc_memory_attach, 30, 32)
ROCM_PERF_SLOT(hsa_amd_ipc_memory_detach, 31, 33)
ROCM_PERF_SLOT(hsa_amd_queue_intercept_create, 36, 38)
ROCM_PERF_SLOT(hsa_amd_queue_intercept_register, 37, 39)
ROCM_PERF_SLOT(hsa_amd_queue_set_priority, 38, 40)
ROCM_PERF_SLOT(hsa_amd_memory_async_copy_rect, 39, 41)
ROCM_PERF_SLOT(hsa_amd_memory_lock_to_pool, 41, 43)
ROCM_PERF_SLOT(hsa_amd_svm_attributes_set, 45, 47)
ROCM_PERF_SLOT(hsa_amd_vmem_handle_create, 0, 58)
ROCM_PERF_SLOT(hsa_amd_vmem_handle_release, 0, 59)
ROCM_PERF_SLOT(hsa_amd_vmem_map, 0, 60)
ROCM_PERF_SLOT(hsa_amd_vmem_unmap, 0, 61)
ROCM_PERF_SLOT(hsa_amd_vmem_import_shareable_handle, 0, 65)
// ROCm 10; its number differed between development branches, so only the machine's own header is believed.
ROCM_PERF_SLOT(hsa_amd_queue_create, 0, 0)
#undef ROCM_PERF_SLOT

class AmdTable {
 public:
  explicit AmdTable(ApiTableVersion& table);

  // The slot, or null where this runtime's table has none.
  template <class Function>
  Function** find(const Slot& slot) const {
    int number = described_by_header() ? slot.header : version_.major_id == 2 ? slot.rocm6 : slot.rocm5;
    if (version_.major_id == 2 && number == 0 && HSA_AMD_EXT_API_TABLE_MAJOR_VERSION == 2) number = slot.header;
    std::size_t offset = sizeof(ApiTableVersion) + static_cast<std::size_t>(number - 1) * sizeof(void*);
    if (number == 0 || offset + sizeof(void*) > version_.minor_id) return nullptr;
    return reinterpret_cast<Function**>(table_ + offset);
  }

  template <class Function>
  Function* get(const Slot& slot) const {
    Function** found = find<Function>(slot);
    return found ? *found : nullptr;
  }

 private:
  static constexpr std::size_t kRocm5Bytes = sizeof(ApiTableVersion) + 48 * sizeof(void*);
  bool described_by_header() const;

  char* table_;
  ApiTableVersion version_;
};

// The calls of the table as they are now: taken before any is replaced.
Api api_of(const HsaApiTable& table);

}  // namespace rocm_perf
