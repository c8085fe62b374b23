#include "softgpu/device/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "softgpu/device/kfd_abi.h"
#include "softgpu/device/report.h"
#include "softgpu/device/settings.h"

namespace rocm_perf::softgpu::device {
namespace {

constexpr std::uint64_t kDoorbellBytes = 64 << 10;  // of one GPU
constexpr std::uint64_t kHeapOffset = 16 << 20;     // behind doorbells and the event page
constexpr std::uint64_t kFileBytes = std::uint64_t{1} << 42;
constexpr std::uint64_t kSmallPage = 64 << 10, kLargePage = 2 << 20;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

std::uint64_t rounded(std::uint64_t size) {
  std::uint64_t page = size >= kLargePage ? kLargePage : kSmallPage;
  return (size + page - 1) / page * page;
}

std::atomic<bool> is_made{false};

bool has_own_place(std::uint32_t flags) { return !(flags & (kUserPointer | kDoorbell | kRemappedRegisters)); }

}  // namespace

Memory::Memory() {
  file_ = ::memfd_create("softgpu", MFD_CLOEXEC);
  struct stat facts{};
  if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(kFileBytes)) || ::fstat(file_, &facts)) {
    fail("this system gives no memory for the device (memfd_create)");
  }
  device_number_ = facts.st_dev;
  inode_ = facts.st_ino;
  void* doorbells = ::mmap(nullptr, kHeapOffset, kReadWrite, MAP_SHARED, file_, 0);
  if (doorbells == MAP_FAILED) fail("the device's own memory cannot be mapped");
  doorbells_ = static_cast<char*>(doorbells);
  free_[kHeapOffset] = kFileBytes - kHeapOffset;
  is_made = true;
}

int Memory::open() const { return ::fcntl(file_, F_DUPFD_CLOEXEC, 0); }

bool Memory::is_opened_by(int file) const {
  struct stat facts{};
  return file >= 0 && ::fstat(file, &facts) == 0 && facts.st_ino == inode_ && facts.st_dev == device_number_;
}

// First fit, at a whole page of its size.
std::optional<std::uint64_t> Memory::take(std::uint64_t size) {
  std::uint64_t page = size >= kLargePage ? kLargePage : kSmallPage;
  for (auto [offset, length] : free_) {
    std::uint64_t start = (offset + page - 1) / page * page;
    if (start + size > offset + length) continue;
    free_.erase(offset);
    if (start > offset) free_[offset] = start - offset;
    if (start + size < offset + length) free_[start + size] = offset + length - start - size;
    return start;
  }
  return std::nullopt;
}

void Memory::give(std::uint64_t offset, std::uint64_t size) {
  ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size));
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
    std::prev(next)->second += size;
  } else {
    free_[offset] = size;
  }
}

std::optional<Allocation> Memory::allocate(const Allocation& wanted) {
  std::lock_guard<std::mutex> lock(mutex_);
  Allocation made = wanted;
  if (has_own_place(wanted.flags)) {
    int gpu = gpu_index(wanted.gpu_id);
    std::uint64_t size = rounded(wanted.size);
    if (gpu < 0) return std::nullopt;
    if ((wanted.flags & kVram) && used_[wanted.gpu_id] + size > settings().gpus[gpu].memory_bytes) return std::nullopt;
    auto offset = take(size);
    if (!offset) return std::nullopt;
    made.offset = *offset;
    if (wanted.flags & kVram) used_[wanted.gpu_id] += size;
  } else if (wanted.flags & kDoorbell) {
    made.offset = doorbell_offset(gpu_index(wanted.gpu_id));
  }
  made.handle = next_handle_++;
  allocations_[made.handle] = made;
  if (made.address && !(made.flags & (kDoorbell | kRemappedRegisters))) ranges_.emplace(made.address, made.size);
  return made;
}

std::optional<Allocation> Memory::find(std::uint64_t handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = allocations_.find(handle);
  if (found == allocations_.end()) return std::nullopt;
  return found->second;
}

void Memory::release(std::uint64_t handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = allocations_.find(handle);
  if (found == allocations_.end()) return;
  const Allocation& one = found->second;
  if (one.address) forget(one.address, one.size);
  if (has_own_place(one.flags)) {
    give(one.offset, rounded(one.size));
    if (one.flags & kVram) used_[one.gpu_id] -= rounded(one.size);
  }
  allocations_.erase(found);
}

std::uint64_t Memory::available(std::uint32_t gpu_id) {
  std::lock_guard<std::mutex> lock(mutex_);
  int gpu = gpu_index(gpu_id);
  return gpu < 0 ? 0 : settings().gpus[gpu].memory_bytes - used_[gpu_id];
}

bool Memory::map(const Allocation& from, std::uint64_t offset, std::uint64_t size, std::uint64_t address) {
  void* at = ::mmap(reinterpret_cast<void*>(address), size, kReadWrite, MAP_SHARED | MAP_FIXED, file_,
                    static_cast<off_t>(from.offset + offset));
  if (at == MAP_FAILED) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  ranges_.emplace(address, size);
  return true;
}

void Memory::unmap(std::uint64_t address, std::uint64_t size) {
  ::mmap(reinterpret_cast<void*>(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
  std::lock_guard<std::mutex> lock(mutex_);
  forget(address, size);
}

void Memory::share(std::uint64_t address, std::uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  forget(address, size);  // it may be shared again, with other wishes
  ranges_.emplace(address, size);
}

void Memory::forget(std::uint64_t address, std::uint64_t size) {
  auto [first, last] = ranges_.equal_range(address);
  auto same = std::find_if(first, last, [size](const auto& range) { return range.second == size; });
  if (same != last) ranges_.erase(same);
}

std::uint64_t Memory::doorbell_offset(int gpu) const { return static_cast<std::uint64_t>(gpu) * kDoorbellBytes; }

volatile std::uint64_t* Memory::doorbell(int gpu, std::uint32_t slot) const {
  return reinterpret_cast<volatile std::uint64_t*>(doorbells_ + doorbell_offset(gpu)) + slot;
}

std::vector<Range> Memory::ranges() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Range> out;
  for (auto [start, size] : ranges_) {
    bool overlaps = !out.empty() && start < out.back().start + out.back().size;
    if (overlaps) {
      out.back().size = std::max(out.back().size, start + size - out.back().start);
    } else {
      out.push_back({start, size});
    }
  }
  return out;
}

Range Memory::range_at(std::uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return {};
  auto [start, size] = *std::prev(after);
  return address - start < size ? Range{start, size} : Range{};
}

Memory& memory() {
  static Memory* const only = new Memory;
  return *only;
}

bool is_in_use() { return is_made; }

bool is_device(int file) { return is_made && memory().is_opened_by(file); }

}  // namespace rocm_perf::softgpu::device
