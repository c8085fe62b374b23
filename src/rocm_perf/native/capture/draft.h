// The snapshot as the captured program writes it: raw and sparse. Python hashes, deduplicates and compresses it
// afterwards, and only then gives it its name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capture/allocations.h"
#include "common/file.h"
#include "common/text.h"

namespace rocm_perf {

constexpr std::size_t kBlock = 64 * 1024;  // the unit of holes and of differences

struct Saved {
  Allocation allocation;
  bool saved = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> changed;  // offset, length: what the kernel wrote
};

// Copies [address, address + size) of device memory to host memory.
using ReadDevice = std::function<void(void* to, std::uint64_t address, std::size_t size)>;

class Draft {
 public:
  explicit Draft(std::string folder);
  void write(const std::string& name, const void* data, std::size_t size) const;
  void write(const std::string& name, const std::string& text) const { write(name, text.data(), text.size()); }

  static std::string region_name(std::uint64_t base) { return "region_" + hex(base) + ".bin"; }
  std::string before(std::uint64_t base) const { return folder_ + "/memory/" + region_name(base); }
  std::string after(std::uint64_t base) const { return folder_ + "/after/" + region_name(base); }

  // One piece of a region's state before the kernel; zero blocks stay holes.
  static void put(File& file, const char* data, std::size_t size, std::uint64_t offset);

  // memory_regions.json
  void write_regions(const std::vector<Saved>& regions) const;

 private:
  static void make(const std::string& folder);
  static std::string one_line(const Saved& region);

  std::string folder_;
};

}  // namespace rocm_perf
