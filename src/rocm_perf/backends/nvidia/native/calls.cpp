#include "calls.h"

#include <array>

#include "text.h"

namespace rocm_perf {

const std::string& Calls::name(CUpti_CallbackId id) {
  static const std::string unknown;
  if (id > 1u << 16) return unknown;
  if (id >= names_.size()) names_.resize(id + 1);
  if (names_[id].empty()) {
    const char* found = nullptr;
    if (cuptiGetCallbackName(domain_, id, &found) == CUPTI_SUCCESS && found) names_[id] = without_version(found);
  }
  return names_[id];
}

bool is_noise(const std::string& runtime_function) {
  constexpr std::array noise = {"cudaGetLastError", "cudaPeekAtLastError", "cudaGetDevice", "cudaGetErrorString",
                                "cudaStreamIsCapturing"};
  for (const char* name : noise)
    if (runtime_function == name) return true;
  return false;
}

bool is_work(const std::string& driver_function) {
  constexpr std::array beginnings = {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset"};
  for (const char* beginning : beginnings)
    if (driver_function.rfind(beginning, 0) == 0) return true;
  return driver_function.find("Synchronize") != std::string::npos;
}

}  // namespace rocm_perf
