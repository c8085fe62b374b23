// Text as JSON wants it, and names as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocm_perf {

void append_number(std::string& out, std::int64_t value);
void append_microseconds(std::string& out, std::int64_t nanoseconds);  // 12345 -> 12.345, exactly
void append_quoted(std::string& out, std::string_view text);           // escaped; what is no UTF-8 becomes U+FFFD
std::string demangled(const char* name);                               // as it is where it is no C++ name
std::string without_version(std::string_view function);                // cudaMemcpy_ptds_v7000 -> cudaMemcpy

}  // namespace rocm_perf
