// What NVTX calls in the library that NVTX_INJECTION64_PATH names.
#include <cupti.h>
#include <dlfcn.h>

namespace {

// CUPTI answers: the one that we are linked with, so that a process never holds two.
int forward_nvtx(const char* entry, void* get_export_table) {
  Dl_info here{};
  if (!dladdr(reinterpret_cast<void*>(&cuptiSubscribe), &here) || !here.dli_fname) return 0;
  void* const cupti = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  const auto initialise = cupti ? reinterpret_cast<int (*)(void*)>(dlsym(cupti, entry)) : nullptr;
  return initialise ? initialise(get_export_table) : 0;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int InitializeInjectionNvtx(void* get_export_table) {
  return forward_nvtx("InitializeInjectionNvtx", get_export_table);
}

EXPORTED int InitializeInjectionNvtx2(void* get_export_table) {
  return forward_nvtx("InitializeInjectionNvtx2", get_export_table);
}
