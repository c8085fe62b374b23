#include "text.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <memory>

namespace rocm_perf {
namespace {

// The length of the UTF-8 sequence at the front of the text, 0 if there is none.
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5                  ? 4 : 0;
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

// Where a suffix of the function's name begins: _v3020, _ptsz, _ptds; at the end of the name if it has none.
std::size_t suffix(std::string_view name) {
  const std::size_t mark = name.rfind('_');
  if (mark == std::string_view::npos) return name.size();
  const std::string_view tail = name.substr(mark + 1);
  const bool version = tail.size() >= 5 && tail[0] == 'v' && tail.find_first_not_of("0123456789", 1) == tail.npos;
  return version || tail == "ptsz" || tail == "ptds" ? mark : name.size();
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

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> found(abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  // "f" is also the mangled name of the type float: only _Z... is a function.
  return status == 0 && found && name[0] == '_' && name[1] == 'Z' ? found.get() : name;
}

std::string without_version(std::string_view function) {
  for (std::size_t end = suffix(function); end < function.size(); end = suffix(function)) function = function.substr(0, end);
  return std::string(function);
}

}  // namespace rocm_perf
