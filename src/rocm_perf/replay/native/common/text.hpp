// Small words that every native part shares: environment, hexadecimal, JSON strings, demangled names.
#pragma once
#include <cxxabi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace rocm_perf {

inline std::string environment(const char* name, const std::string& otherwise = "") {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

inline bool switched_on(const char* name) { return environment(name) == "1"; }

inline std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

// A JSON string with its quotes. Bytes above 0x7f pass as they are: names are UTF-8.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (unsigned char byte : text) {
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += static_cast<char>(byte);
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else {
      out += static_cast<char>(byte);
    }
  }
  return out + '"';
}

inline std::string quoted_hex(std::uint64_t value) { return quoted("0x" + hex(value)); }

inline std::string demangled(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : symbol;
  std::free(text);
  return out;
}

inline void complain(const std::string& message) {
  std::fprintf(stderr, "rocm-perf capture: %s\n", message.c_str());
}

}  // namespace rocm_perf
