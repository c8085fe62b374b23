// Which lines of memory a kernel touched, however often.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace rocm_perf::softgpu {

class Footprint {
 public:
  static constexpr std::uint64_t kLine = 64;  // bytes
  struct Lines {
    std::uint64_t read = 0, written = 0, touched = 0;
  };

  // A region, before anything of it is touched; they are numbered in the order in which they are added.
  void add(std::uint64_t base, std::uint64_t size);

  // Several threads may do so at once.
  void touch(std::size_t region, std::uint64_t address, std::uint64_t size, bool is_write) {
    Marks& marks = regions_[region];
    std::uint64_t last = (address + size - 1) / kLine - marks.first;
    for (std::uint64_t line = address / kLine - marks.first; line <= last; ++line)
      mark(is_write ? marks.written[line / kBits] : marks.read[line / kBits], std::uint64_t{1} << line % kBits);
  }

  Lines lines() const;

 private:
  static constexpr std::uint64_t kBits = 64;
  using Words = std::vector<std::atomic<std::uint64_t>>;

  struct Marks {
    std::uint64_t first;  // line
    Words read, written;
  };

  static void mark(std::atomic<std::uint64_t>& word, std::uint64_t bit) {
    if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit, std::memory_order_relaxed);
  }

  std::vector<Marks> regions_;
};

}  // namespace rocm_perf::softgpu
