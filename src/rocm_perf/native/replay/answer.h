// What a runner answers: one JSON object on stdout.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/plan.h"

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

  void print() const;
};

}  // namespace rocm_perf
