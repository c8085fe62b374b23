#include "common/environment.h"

#include <cstdlib>

namespace rocm_perf {

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

bool switched_on(const char* name) { return environment(name) == "1"; }

}  // namespace rocm_perf
