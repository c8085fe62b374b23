// The HSA runtime, by its own calls.
#pragma once

#include <dlfcn.h>

#include <string>

#include "hsa/api.h"
#include "replay/plan.h"

namespace rocm_perf {

std::string without_features(const std::string& isa);

// Loaded here and not linked, so that the runner also builds where only its headers are.
struct Runtime : Api {
  decltype(::hsa_init)* hsa_init = nullptr;
  decltype(::hsa_amd_profiling_set_profiler_enabled)* hsa_amd_profiling_set_profiler_enabled = nullptr;
  decltype(::hsa_amd_profiling_get_dispatch_time)* hsa_amd_profiling_get_dispatch_time = nullptr;
  decltype(::hsa_amd_memory_fill)* hsa_amd_memory_fill = nullptr;
  VmemReserve* reserve = nullptr;
  VmemCreate* create = nullptr;
  VmemMap* map = nullptr;
  VmemSetAccess* set_access = nullptr;

  Runtime();

 private:
  template <class Function>
  void find(const char* name, Function*& into) {
    into = reinterpret_cast<Function*>(::dlsym(library_, name));
    if (!into) throw Failure(kNoDevice, std::string("this HSA runtime has no ") + name + " (ROCm 6.0 or later has)");
  }
  void* library_ = nullptr;
};

}  // namespace rocm_perf
