#include "softgpu/memory.h"

#include <algorithm>

namespace rocm_perf::softgpu {

Memory::Memory(std::vector<Region> regions) : regions_(std::move(regions)) {
  if (regions_.empty()) regions_.emplace_back();
  std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) { return a.base < b.base; });
}

void Memory::watch(Footprint* footprint) {
  footprint_ = footprint;
  if (!footprint) return;
  for (const Region& region : regions_) footprint->add(region.base, region.size);
}

unsigned char* Memory::searched(std::uint64_t address, std::uint64_t size, bool is_write) {
  auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](std::uint64_t wanted, const Region& region) { return wanted < region.base; });
  if (after == regions_.begin()) throw OutsideMemory{address, size, is_write};
  const Region& region = *--after;
  std::uint64_t offset = address - region.base;
  if (offset >= region.size || size > region.size - offset || (is_write && !region.is_writable))
    throw OutsideMemory{address, size, is_write};
  recent_ = static_cast<std::size_t>(after - regions_.begin());
  return region.host + offset;
}

}  // namespace rocm_perf::softgpu
