#include "common/text.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/mangling.h"

namespace rocm_perf {
namespace {

// As in analysis/basis/names.py, which says why.
constexpr std::size_t kLongest = 16384;
constexpr std::int64_t kLongestUnfolded = 1 << 18;

// The length of the UTF-8 sequence at the front of the text, 0 if there is none.
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool beyond = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

void append_control(std::string& out, unsigned char byte) {
  static const char* const hex = "0123456789abcdef";
  out += "\\u00";
  out += hex[byte >> 4];
  out += hex[byte & 15];
}

}  // namespace

void append_number(std::string& out, std::int64_t value) {
  char digits[24];
  const auto done = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, done.ptr);
}

void append_microseconds(std::string& out, std::int64_t nanoseconds) {
  if (nanoseconds < 0) out += '-';
  const std::uint64_t size = nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds) : nanoseconds;
  append_number(out, static_cast<std::int64_t>(size / 1000));
  const char decimals[] = {'.', static_cast<char>('0' + size / 100 % 10), static_cast<char>('0' + size / 10 % 10),
                           static_cast<char>('0' + size % 10)};
  out.append(decimals, sizeof decimals);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = sequence(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (length == 0)
      out += "\\ufffd";
    else if (byte == '"' || byte == '\\')
      (out += '\\') += text[0];
    else if (byte < 0x20 || byte == 0x7F)
      append_control(out, byte);
    else
      out.append(text.substr(0, length));
    text.remove_prefix(length ? length : 1);
  }
  out += '"';
}

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::string hex(std::uint64_t value) {
  char digits[16];
  const auto done = std::to_chars(digits, digits + sizeof digits, value, 16);
  return std::string(digits, done.ptr);
}

std::string quoted_hex(std::uint64_t value) { return "\"0x" + hex(value) + '"'; }

std::string demangled(const std::string& symbol) {
  if (symbol.compare(0, 2, "_Z") != 0) return symbol;  // "f" is also the mangled name of the type float
  if (!unfolds_within(symbol, kLongestUnfolded)) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && name && std::strlen(name.get()) <= kLongest ? name.get() : symbol;
}

}  // namespace rocm_perf
