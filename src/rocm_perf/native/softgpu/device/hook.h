// Functions of the C library and of libdrm that this library takes the place of.
#pragma once
#include <dlfcn.h>

#define HOOK __attribute__((visibility("default")))

namespace rocm_perf::softgpu::device {

// The function that would have been called without this library.
template <class Function>
Function* next_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace rocm_perf::softgpu::device
