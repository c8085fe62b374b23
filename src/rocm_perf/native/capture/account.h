// What a capture says of itself in capture.json: how it ended, what was seen, what it took.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/draft.h"
#include "capture/target.h"

namespace rocm_perf {

double seconds();

// The 64-bit words of some memory: each may be a pointer.
std::vector<std::uint64_t> words(const char* data, std::size_t size);

void complain(const std::string& message);

std::string command_json();

// The kernel could be captured, but not so that a replay would be right.
class Refused : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Account {
  std::string state = "no-match", reason;
  std::vector<std::string> notes;
  std::uint64_t bytes = 0;
  double drain_s = 0, before_s = 0, kernel_s = 0, after_s = 0;

  bool captured() const { return state == "captured"; }

  void begin() { state = kCapturing; }

  // The program ends. Where nothing was captured, there was nothing to, or no time to.
  void end();

  void failed(const std::exception& error);

  // Written last and renamed: what it says is true only once everything else is there. `also` are notes of this moment.
  void write(const std::string& folder, const Target& target, const std::vector<std::string>& also) const;

 private:
  static constexpr const char* kCapturing = "capturing";
};

}  // namespace rocm_perf
