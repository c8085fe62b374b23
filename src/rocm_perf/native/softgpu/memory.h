// The memory that a kernel sees: ranges of the GPU's addresses, each somewhere in this process.
#pragma once

#include <cstdint>
#include <vector>

#include "softgpu/footprint.h"

namespace rocm_perf::softgpu {

struct Region {
  std::uint64_t base = 0, size = 0;
  unsigned char* host = nullptr;  // where the byte at `base` lies in this process
  bool is_writable = true;
};

struct OutsideMemory {
  std::uint64_t address, size;
  bool is_write;
};

class Memory {
 public:
  explicit Memory(std::vector<Region> regions);  // must not overlap

  // Where the bytes lie; OutsideMemory is thrown unless all of them are within one region.
  unsigned char* at(std::uint64_t address, std::uint64_t size, bool is_write) {
    const Region& region = regions_[recent_];
    std::uint64_t offset = address - region.base;
    bool is_here = offset < region.size && size <= region.size - offset && (region.is_writable || !is_write);
    unsigned char* host = is_here ? region.host + offset : searched(address, size, is_write);
    if (footprint_) footprint_->touch(recent_, address, size, is_write);
    return host;
  }

  // What is asked for from now on is marked there; nullptr: nowhere.
  void watch(Footprint* footprint);

 private:
  unsigned char* searched(std::uint64_t address, std::uint64_t size, bool is_write);

  std::vector<Region> regions_;  // by address
  std::size_t recent_ = 0;
  Footprint* footprint_ = nullptr;
};

}  // namespace rocm_perf::softgpu
