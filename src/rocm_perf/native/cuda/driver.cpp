#include "cuda/driver.h"

#include <stdexcept>

namespace rocm_perf {

std::string Driver::name_of(CUresult result) const {
  const char* text = nullptr;
  if (error_name) error_name(result, &text);
  return text ? text : "CUDA error " + std::to_string(static_cast<int>(result));
}

void Driver::check(CUresult result, const std::string& what) const {
  if (result != CUDA_SUCCESS) throw std::runtime_error(what + ": " + name_of(result));
}

const Driver& driver() {
  static const Driver one;
  return one;
}

}  // namespace rocm_perf
