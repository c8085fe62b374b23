// A dispatch, and the registers that its waves start with.
#pragma once

#include <cstdint>
#include <vector>

#include "softgpu/decode.h"
#include "softgpu/memory.h"
#include "softgpu/wave.h"

namespace rocm_perf::softgpu {

struct Dispatch {
  std::uint64_t descriptor = 0;  // the address of the kernel's descriptor (`NAME.kd`)
  std::uint64_t kernarg = 0, packet = 0,
                queue = 0;  // addresses; packet and queue may be 0 where no kernel asks for them
  std::uint32_t grid[3] = {1, 1, 1}, workgroup[3] = {1, 1, 1};
  std::uint32_t group_segment = 0, private_segment = 0;  // bytes: LDS of a workgroup, scratch of a lane
};

// What a kernel's descriptor says (LLVM, AMDGPUUsage: Kernel Descriptor).
struct Descriptor {
  Descriptor(Memory& memory, std::uint64_t address);
  int wave_size() const { return properties >> 10 & 1 ? 32 : 64; }
  int vector_registers() const { return static_cast<int>((resources_1 & 0x3fu) + 1) * 8; }  // at least what it has
  int user_registers() const { return static_cast<int>(resources_2 >> 1 & 0x1fu); }

  std::uint64_t entry;
  std::uint32_t resources_1, resources_2, properties;
  std::uint32_t preloaded_words, preload_offset;  // of the arguments, into registers
};

class Launch {
 public:
  Launch(const Program& program, Memory& memory, const Dispatch& dispatch);  // throws ExecutionError

  std::uint64_t workgroups() const;
  // All waves of a workgroup, with the registers that they start with.
  std::vector<Wave> waves(Workgroup& group, std::uint64_t number, Memory& memory, Counts* counts) const;

 private:
  void set_scalars(Wave& wave, const Workgroup& group, Memory& memory) const;
  int set_user_scalars(Wave& wave, Memory& memory) const;

  const Program& program_;
  const Dispatch& dispatch_;
  Descriptor descriptor_;
  std::uint32_t entry_;  // the number of the first instruction
  std::uint32_t groups_[3];
};

}  // namespace rocm_perf::softgpu
