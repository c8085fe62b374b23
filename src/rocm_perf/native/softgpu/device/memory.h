// The memory of all GPUs: one sparse file, of which every allocation is a part. The offset that the driver returns to
// be mapped is simply the place in that file, and so everything that a GPU may reach lies in the program's own memory.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "softgpu/device/range.h"

namespace rocm_perf::softgpu::device {

struct Allocation {
  std::uint64_t handle = 0, address = 0, size = 0, offset = 0;
  std::uint32_t gpu_id = 0, flags = 0;
};

class Memory {
 public:
  Memory();

  int open() const;  // a new file descriptor of the device
  bool is_opened_by(int file) const;

  // A new allocation; nothing if the GPU has no room left.
  std::optional<Allocation> allocate(const Allocation& wanted);
  std::optional<Allocation> find(std::uint64_t handle);
  void release(std::uint64_t handle);
  std::uint64_t available(std::uint32_t gpu_id);

  // The virtual-memory calls: parts of an allocation at further addresses.
  bool map(const Allocation& from, std::uint64_t offset, std::uint64_t size, std::uint64_t address);
  void unmap(std::uint64_t address, std::uint64_t size);

  // Where the doorbells of a GPU lie in the file, and where the device itself sees them.
  std::uint64_t doorbell_offset(int gpu) const;
  volatile std::uint64_t* doorbell(int gpu, std::uint32_t slot) const;

  // Memory of the program itself that it shares with the GPU.
  void share(std::uint64_t address, std::uint64_t size);

  std::vector<Range> ranges();            // all that kernels may touch, by address; they do not overlap
  Range range_at(std::uint64_t address);  // the one that holds it; nothing where there is none

 private:
  std::optional<std::uint64_t> take(std::uint64_t size);
  void give(std::uint64_t offset, std::uint64_t size);
  void forget(std::uint64_t address, std::uint64_t size);

  int file_ = -1;
  std::uint64_t device_number_ = 0, inode_ = 0;
  char* doorbells_ = nullptr;
  std::mutex mutex_;
  std::map<std::uint64_t, Allocation> allocations_;     // by handle
  std::multimap<std::uint64_t, std::uint64_t> ranges_;  // address to size, of all that kernels may touch
  std::map<std::uint64_t, std::uint64_t> free_;         // offset to size
  std::map<std::uint32_t, std::uint64_t> used_;         // bytes by GPU
  std::uint64_t next_handle_ = 1;
};

Memory& memory();

bool is_in_use();          // whether the program has opened the device
bool is_device(int file);  // whether a descriptor is one of the device's, however it was passed on

constexpr std::uint64_t kEventPageOffset = 1 << 20;

}  // namespace rocm_perf::softgpu::device
