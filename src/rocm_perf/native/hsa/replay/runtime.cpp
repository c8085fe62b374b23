#include "hsa/replay/runtime.h"

#include "common/environment.h"

namespace rocm_perf {

std::string without_features(const std::string& isa) { return isa.substr(0, isa.find(':')); }

Runtime::Runtime() {
  std::string given = environment("ROCM_PERF_HSA_LIBRARY");
  for (const std::string& name :
       {given, std::string("libhsa-runtime64.so.1"), std::string("/opt/rocm/lib/libhsa-runtime64.so.1")})
    if (!library_ && !name.empty()) library_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library_) throw Failure(kNoDevice, "libhsa-runtime64.so.1 is not on this machine");
#define X(name) find(#name, this->name);
  ROCM_PERF_CORE_CALLS(X)
  ROCM_PERF_AMD_CALLS(X)
  X(hsa_init)
  X(hsa_amd_profiling_set_profiler_enabled)
  X(hsa_amd_profiling_get_dispatch_time)
  X(hsa_amd_memory_fill)
#undef X
  find("hsa_amd_vmem_address_reserve", reserve);
  find("hsa_amd_vmem_handle_create", create);
  find("hsa_amd_vmem_map", map);
  find("hsa_amd_vmem_set_access", set_access);
}

}  // namespace rocm_perf
