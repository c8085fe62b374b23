#include "softgpu/footprint.h"

namespace rocm_perf::softgpu {

void Footprint::add(std::uint64_t base, std::uint64_t size) {
  std::uint64_t first = base / kLine, lines = (base + (size ? size - 1 : 0)) / kLine - first + 1;
  std::uint64_t words = (lines + kBits - 1) / kBits;
  regions_.push_back({first, Words(words), Words(words)});
}

Footprint::Lines Footprint::lines() const {
  Lines lines;
  auto set_bits = [](std::uint64_t word) { return static_cast<std::uint64_t>(__builtin_popcountll(word)); };
  for (const Marks& marks : regions_)
    for (std::size_t at = 0; at < marks.read.size(); ++at) {
      std::uint64_t read = marks.read[at], written = marks.written[at];
      lines.read += set_bits(read);
      lines.written += set_bits(written);
      lines.touched += set_bits(read | written);
    }
  return lines;
}

}  // namespace rocm_perf::softgpu
