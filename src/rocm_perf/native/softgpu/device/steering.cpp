#include "softgpu/device/steering.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace rocm_perf::softgpu::device {

#ifdef __aarch64__
void* within_reach(void* address, std::size_t size, int protection, int file) {
  static std::atomic<std::uint64_t> lowest{0x7e0000000000};
  constexpr std::uint64_t kPage = 2 << 20;
  if (address || protection != PROT_NONE || file != -1) return address;
  std::uint64_t room = (size + 2 * kPage - 1) / kPage * kPage;
  return reinterpret_cast<void*>(lowest.fetch_sub(room) - room);
}
#else
void* within_reach(void* address, std::size_t, int, int) { return address; }
#endif

}  // namespace rocm_perf::softgpu::device
