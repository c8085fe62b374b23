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

// How many bytes the UTF-8 character at `at` has; 0: there is none.
inline std::size_t utf8_length(const std::string& text, std::size_t at) {
  auto byte = [&](std::size_t place) { return static_cast<unsigned char>(place < text.size() ? text[place] : 0); };
  unsigned first = byte(at);
  std::size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3
                       : first >= 0xf0 && first < 0xf5                 ? 4
                                                                       : 0;
  for (std::size_t next = 1; next < length; ++next)
    if ((byte(at + next) & 0xc0) != 0x80) return 0;
  bool overlong = (first == 0xe0 && byte(at + 1) < 0xa0) || (first == 0xf0 && byte(at + 1) < 0x90);
  bool surrogate = first == 0xed && byte(at + 1) >= 0xa0;
  bool beyond = first == 0xf4 && byte(at + 1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

// A JSON string with its quotes. Bytes that are no UTF-8, as file names may have, become the mark for unknown ones.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    auto byte = static_cast<unsigned char>(text[at]);
    std::size_t length = utf8_length(text, at);
    char escape[8];
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[at];
    } else if (byte < 0x20) {
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else if (length == 0) {
      out += "\\ufffd";
    } else {
      out.append(text, at, length);
    }
    at += length ? length : 1;
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
