#include "hsa/capture/tables.h"

#include <stdexcept>
#include <string>

namespace rocm_perf {

AmdTable::AmdTable(ApiTableVersion& table) : table_(reinterpret_cast<char*>(&table)), version_(table) {
  if (described_by_header() || version_.major_id == 2) return;
  if (version_.major_id == 1 && version_.minor_id == kRocm5Bytes) return;
  throw std::runtime_error("the HSA runtime's API table (major " + std::to_string(version_.major_id) + ", " +
                           std::to_string(version_.minor_id) +
                           " bytes) is not one of ROCm 5.2, ROCm 6 or later, nor that of the installed HSA headers");
}

bool AmdTable::described_by_header() const {
  return version_.major_id == HSA_AMD_EXT_API_TABLE_MAJOR_VERSION && version_.minor_id == sizeof(AmdExtTable);
}

Api api_of(const HsaApiTable& table) {
  constexpr std::size_t kCoreBytes = sizeof(ApiTableVersion) + 125 * sizeof(void*);  // the same in ROCm 5 to 10
  if (!table.core_ || !table.amd_ext_ || table.core_->version.minor_id < kCoreBytes)
    throw std::runtime_error("the HSA runtime's API table is incomplete");
  AmdTable amd(table.amd_ext_->version);
  Api api;
#define X(name) api.name = table.core_->name##_fn;
  ROCM_PERF_CORE_CALLS(X)
#undef X
#define X(name) api.name = amd.get<decltype(::name)>(k_##name);
  ROCM_PERF_AMD_CALLS(X)
#undef X
  return api;
}

}  // namespace rocm_perf
