#include "replay/answer.h"

#include <cstdio>

#include "common/text.h"

namespace rocm_perf {
namespace {

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

template <typename Many, typename Write>
std::string joined(const Many& many, Write write) {
  std::string out;
  for (const auto& one : many) out += (out.empty() ? "" : ", ") + write(one);
  return out;
}

}  // namespace

void Answer::print() const {
  std::string out = "{\"state\": " + quoted(state) + ", \"error\": " + quoted(error) +
                    ", \"device\": {\"name\": " + quoted(device_name) + ", \"gfx\": " + quoted(isa) +
                    ", \"driver\": " + quoted(driver) + "}";
  out += ", \"reservations\": [" + joined(reservations, [](const Reservation& one) {
           return "{\"base\": " + quoted_hex(one.wanted.base) + ", \"size\": " + std::to_string(one.wanted.size) +
                  ", \"got\": " + (one.got ? quoted_hex(one.got) : "null") +
                  ", \"exact\": " + (one.exact() ? "true" : "false") + "}";
         });
  out += "], \"variables\": [" + joined(variables, [](const MovedVariable& one) {
           return "{\"name\": " + quoted(one.name) + ", \"address\": " + quoted_hex(one.address) + "}";
         });
  out += "], \"samples_ns\": {" + joined(samples_ns, [](const auto& entry) {
           return quoted(entry.first) + ": [" + joined(entry.second, [](double value) { return number(value); }) + "]";
         });
  out += "}, \"order\": [" + joined(order, [](const std::string& label) { return quoted(label); });
  out += "], \"clocks_mhz\": [" + joined(clocks_mhz, [](double value) { return number(value); });
  out += "], \"wall_ns\": " + number(wall_ns) + ", \"restored_bytes\": " + std::to_string(restored_bytes) +
         ", \"cache_bytes\": " + std::to_string(cache_bytes) + "}";
  std::printf("%s\n", out.c_str());
  std::fflush(stdout);
}

}  // namespace rocm_perf
