// The driver's functions. It is in the process already, since it loaded us: they are looked up, and nothing is linked.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

namespace rocm_perf {

template <typename Function>
Function* driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? reinterpret_cast<Function*>(dlsym(driver, name)) : nullptr;
}

}  // namespace rocm_perf
