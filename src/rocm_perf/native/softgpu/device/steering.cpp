#include "softgpu/device/steering.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace rocm_perf::softgpu::device {
namespace {

constexpr std::uint64_t kEnd = 1ull << 47, kLowest = kEnd / 2, kPage = 2 << 20;

}  // namespace

bool is_within_reach(const void* address, std::size_t size) {
  return reinterpret_cast<std::uint64_t>(address) + size <= kEnd;
}

// Each address is tried once: those above it are taken, by earlier calls or by a snapshot that is replayed.
void* mapped_within_reach(std::size_t size, const std::function<void*(void*)>& map) {
  static std::atomic<std::uint64_t> lowest{kEnd - (kEnd >> 6)};
  const std::uint64_t room = (size + 2 * kPage - 1) / kPage * kPage;
  void* mapped = MAP_FAILED;
  while (mapped == MAP_FAILED && lowest > kLowest + room)
    mapped = map(reinterpret_cast<void*>(lowest.fetch_sub(room) - room));
  return mapped;
}

}  // namespace rocm_perf::softgpu::device
