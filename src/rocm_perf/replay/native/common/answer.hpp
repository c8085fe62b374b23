// What a runner answers: one JSON object on stdout.
#pragma once
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "plan.hpp"
#include "text.hpp"

namespace rocm_perf {

struct Reservation {
  Range wanted;
  std::uint64_t got = 0;  // 0: refused
  bool exact() const { return got == wanted.base; }
};

struct MovedVariable {
  std::string name;
  std::uint64_t address = 0;
};

struct Answer {
  std::string state = "failed", error, device_name, isa, driver;
  std::vector<Reservation> reservations;
  std::vector<MovedVariable> variables;
  std::map<std::string, std::vector<double>> samples_ns;
  std::vector<std::string> order;
  std::vector<double> clocks_mhz;  // of the GPU, just before each launch that counts; empty: not measured
  double wall_ns = 0;
  std::uint64_t restored_bytes = 0, cache_bytes = 0;

  void print() const {
    std::string out = "{\"state\": " + quoted(state) + ", \"error\": " + quoted(error) + ", \"device\": {\"name\": " +
                      quoted(device_name) + ", \"gfx\": " + quoted(isa) + ", \"driver\": " + quoted(driver) + "}";
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

 private:
  static std::string number(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.0f", value);
    return text;
  }

  template <typename Many, typename Write>
  static std::string joined(const Many& many, Write write) {
    std::string out;
    for (const auto& one : many) out += (out.empty() ? "" : ", ") + write(one);
    return out;
  }
};

}  // namespace rocm_perf
