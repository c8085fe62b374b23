#include "replay/rounds.h"

#include <algorithm>

namespace rocm_perf {

std::vector<std::size_t> order_of_round(std::size_t variants, std::uint64_t round) {
  std::vector<std::size_t> out;
  for (std::size_t place = 0; place < variants; ++place) out.push_back((place + round / 2) % variants);
  if (round % 2) std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace rocm_perf
