// Keeps wanted addresses free until the GPU's runtime is asked for them: a placeholder over every range before the
// runtime starts.
#pragma once

#include <sys/mman.h>

#include <vector>

#include "replay/plan.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace rocm_perf {

class Placeholders {
 public:
  explicit Placeholders(const std::vector<Range>& ranges);

  // Gives the range up, just before the runtime is asked for it.
  void release(std::size_t index, const Range& range);

 private:
  std::vector<bool> held_;
};

}  // namespace rocm_perf
