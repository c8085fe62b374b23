// Keeps wanted addresses free until the GPU's runtime is asked for them: a placeholder over every range before the
// runtime starts.
#pragma once
#include <sys/mman.h>

#include <vector>

#include "plan.hpp"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace rocm_perf {

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
