// One line of a plan that Python wrote: words from left to right, a file's name last.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

namespace rocm_perf {

class PlanError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class PlanLine {
 public:
  explicit PlanLine(const std::string& text) : in_(text) {}

  std::string word();
  std::uint64_t number() { return number_of(word()); }
  bool flag() { return number() != 0; }
  std::string file();

  static std::uint64_t number_of(const std::string& text);

 private:
  std::istringstream in_;
};

}  // namespace rocm_perf
