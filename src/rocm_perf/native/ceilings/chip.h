// What the measurements need to know of the GPU.
#pragma once

#include <cstddef>

namespace rocm_perf {

struct Chip {
  int compute_units;
  int wave_size;
  size_t memory_bytes;
  size_t l2_bytes;  // of one die, where there are several
};

}  // namespace rocm_perf
