// Keeping wanted addresses free until the GPU's runtime is asked for them: no randomisation, and a placeholder over
// every range before the runtime starts.
#pragma once
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "plan.hpp"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace rocm_perf {

// How often this program has started itself again.
inline int attempt() {
  const char* count = std::getenv("ROCM_PERF_REPLAY_ATTEMPT");
  return count ? std::atoi(count) : 0;
}

// Starts this program again, with or without address space randomisation; returns only where that is denied.
inline void start_again(char** argv, bool randomised) {
  ::setenv("ROCM_PERF_REPLAY_ATTEMPT", std::to_string(attempt() + 1).c_str(), 1);
  int now = ::personality(0xffffffff);
  if (now == -1) return;
  unsigned long wanted = static_cast<unsigned long>(now);
  wanted = randomised ? wanted & ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE) : wanted | ADDR_NO_RANDOMIZE;
  if (::personality(wanted) != -1) ::execv("/proc/self/exe", argv);
}

// The first life ends here; the second has no randomisation.
inline void without_randomisation(char** argv) {
  if (attempt() == 0) start_again(argv, false);
}

class Placeholders {
 public:
  explicit Placeholders(const std::vector<Range>& ranges) {
    for (const Range& range : ranges) {
      void* wanted = reinterpret_cast<void*>(range.base);
      constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
      void* got = ::mmap(wanted, range.size, PROT_NONE, kFlags, -1, 0);
      if (got != MAP_FAILED && got != wanted) ::munmap(got, range.size);  // kernels before 4.17 take it as a hint
      held_.push_back(got == wanted);
    }
  }

  // Gives the range up, just before the runtime is asked for it.
  void release(std::size_t index, const Range& range) {
    if (held_[index]) ::munmap(reinterpret_cast<void*>(range.base), range.size);
    held_[index] = false;
  }

 private:
  std::vector<bool> held_;
};

}  // namespace rocm_perf
