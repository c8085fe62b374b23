#include "replay/address_space.h"

namespace rocm_perf {

Placeholders::Placeholders(const std::vector<Range>& ranges) {
  for (const Range& range : ranges) {
    void* wanted = reinterpret_cast<void*>(range.base);
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void* got = ::mmap(wanted, range.size, PROT_NONE, kFlags, -1, 0);
    if (got != MAP_FAILED && got != wanted) ::munmap(got, range.size);  // kernels before 4.17 take it as a hint
    held_.push_back(got == wanted);
  }
}

void Placeholders::release(std::size_t index, const Range& range) {
  if (held_[index]) ::munmap(reinterpret_cast<void*>(range.base), range.size);
  held_[index] = false;
}

}  // namespace rocm_perf
