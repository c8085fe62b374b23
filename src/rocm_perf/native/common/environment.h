// Settings that come as environment variables.
#pragma once

#include <string>

namespace rocm_perf {

std::string environment(const char* name, const std::string& otherwise = "");
bool switched_on(const char* name);  // whether it is 1

}  // namespace rocm_perf
