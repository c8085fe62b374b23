// Text as JSON wants it, and names as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocm_perf {

void append_number(std::string& out, std::int64_t value);
void append_microseconds(std::string& out, std::int64_t nanoseconds);  // 12345 -> 12.345, exactly
void append_quoted(std::string& out, std::string_view text);  // a JSON string; bytes that are not UTF-8 become U+FFFD
std::string quoted(std::string_view text);                    // the same, by itself
std::string hex(std::uint64_t value);                         // 7f00, without 0x
std::string quoted_hex(std::uint64_t value);                  // "0x7f00"
std::string demangled(const std::string& symbol);  // as it is where it is not a C++ function, or too long a one

}  // namespace rocm_perf
