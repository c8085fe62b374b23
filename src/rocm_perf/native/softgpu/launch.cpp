#include "softgpu/launch.h"

#include <algorithm>

#include "common/text.h"
#include "softgpu/failure.h"

namespace rocm_perf::softgpu {
namespace {

// Bits of the kernel's properties: which values its first scalar registers hold, in this order.
enum Property : uint32_t {
  kPrivateSegmentBuffer = 1 << 0,
  kDispatchPointer = 1 << 1,
  kQueuePointer = 1 << 2,
  kKernargPointer = 1 << 3,
  kDispatchId = 1 << 4,
  kFlatScratchInit = 1 << 5,
  kPrivateSegmentSize = 1 << 6,
};

constexpr uint32_t kScratchEnabled = 1 << 0, kGroupInfo = 1 << 10;
constexpr uint64_t kPreloadPrologue = 256;  // bytes that load the arguments where the hardware cannot

template <typename T>
T read(Memory& memory, uint64_t address) {
  T value;
  std::memcpy(&value, memory.at(address, sizeof value, false), sizeof value);
  return value;
}

// Hardware before gfx940 and gfx11 takes scratch at an offset that a register holds.
bool has_scratch_offset(const std::string& isa) { return isa == "gfx90a" || isa == "gfx908" || isa == "gfx906"; }

}  // namespace

Descriptor::Descriptor(Memory& memory, uint64_t address)
    : entry(address + static_cast<uint64_t>(read<int64_t>(memory, address + 16))),
      resources_1(read<uint32_t>(memory, address + 48)),
      resources_2(read<uint32_t>(memory, address + 52)),
      properties(read<uint16_t>(memory, address + 56)),
      preloaded_words(read<uint16_t>(memory, address + 58) & 0x7fu),
      preload_offset(read<uint16_t>(memory, address + 58) >> 7) {
  if (preloaded_words) entry += kPreloadPrologue;
}

Launch::Launch(const Program& program, Memory& memory, const Dispatch& dispatch)
    : program_(program), dispatch_(dispatch), descriptor_(memory, dispatch.descriptor) {
  auto entry = program.numbers.find(descriptor_.entry);
  if (entry == program.numbers.end())
    throw ExecutionError("the kernel starts at 0x" + hex(descriptor_.entry) + ", where no code was disassembled");
  entry_ = entry->second;
  if (program.family == Family::kGfx9 && descriptor_.wave_size() == 32)
    throw ExecutionError("the kernel has waves of 32 lanes, which " + program.isa + " does not have");
  for (int axis = 0; axis < 3; ++axis) {
    if (!dispatch.grid[axis] || !dispatch.workgroup[axis]) throw ExecutionError("the grid or the workgroup is empty");
    groups_[axis] = (dispatch.grid[axis] + dispatch.workgroup[axis] - 1) / dispatch.workgroup[axis];
  }
}

uint64_t Launch::workgroups() const { return uint64_t{groups_[0]} * groups_[1] * groups_[2]; }

std::vector<Wave> Launch::waves(Workgroup& group, uint64_t number, Memory& memory, Counts* counts) const {
  group.id[0] = static_cast<uint32_t>(number % groups_[0]);
  group.id[1] = static_cast<uint32_t>(number / groups_[0] % groups_[1]);
  group.id[2] = static_cast<uint32_t>(number / groups_[0] / groups_[1]);
  group.lds.assign(dispatch_.group_segment, 0);
  uint32_t size[3];  // the last workgroup of an axis may be smaller
  for (int axis = 0; axis < 3; ++axis)
    size[axis] = std::min(dispatch_.workgroup[axis], dispatch_.grid[axis] - group.id[axis] * dispatch_.workgroup[axis]);
  uint32_t items = size[0] * size[1] * size[2], lanes = static_cast<uint32_t>(descriptor_.wave_size());
  std::vector<Wave> waves((items + lanes - 1) / lanes);
  for (uint32_t at = 0; at < waves.size(); ++at) {
    Wave& wave = waves[at];
    wave.group = &group;
    wave.memory = &memory;
    wave.counts = counts;
    wave.program = &program_;
    wave.family = program_.family;
    wave.size = static_cast<int>(lanes);
    wave.number = at;
    wave.vectors.resize(static_cast<std::size_t>(std::max(program_.vector_registers, descriptor_.vector_registers())));
    wave.scratch_size = dispatch_.private_segment;
    wave.scratch.assign(lanes * wave.scratch_size, 0);
    wave.mode = descriptor_.resources_1 >> 12 & 0xffu;
    wave.next = entry_;
    set_scalars(wave, group, memory);
    uint64_t exec = 0;
    for (uint32_t lane = 0; lane < lanes && at * lanes + lane < items; ++lane) {
      uint32_t item = at * lanes + lane;
      uint32_t x = item % size[0], y = item / size[0] % size[1], z = item / size[0] / size[1];
      wave.vectors[0].lane[lane] = x | y << 10 | z << 20;
      exec |= uint64_t{1} << lane;
    }
    wave.set_scalar_64(kExec, exec);
  }
  return waves;
}

int Launch::set_user_scalars(Wave& wave, Memory& memory) const {
  int at = 0;
  auto pair = [&](Property property, uint64_t value) {
    if (!(descriptor_.properties & property)) return;
    wave.set_scalar_64(at, value);
    at += 2;
  };
  if (descriptor_.properties & kPrivateSegmentBuffer) {
    wave.set_scalar_64(0, kBufferScratch);
    wave.set_scalar_64(2, 0xffffffffu);
    at = 4;
  }
  pair(kDispatchPointer, dispatch_.packet);
  pair(kQueuePointer, dispatch_.queue);
  pair(kKernargPointer, dispatch_.kernarg);
  pair(kDispatchId, 0);
  pair(kFlatScratchInit, 0);
  if (descriptor_.properties & kPrivateSegmentSize) wave.set_scalar(at++, dispatch_.private_segment);
  for (uint32_t word = 0; word < descriptor_.preloaded_words; ++word)
    wave.set_scalar(at++, read<uint32_t>(memory, dispatch_.kernarg + 4 * (descriptor_.preload_offset + word)));
  return descriptor_.user_registers();
}

void Launch::set_scalars(Wave& wave, const Workgroup& group, Memory& memory) const {
  wave.set_scalar_64(kSharedBase, kLdsAperture);
  wave.set_scalar_64(kSharedLimit, kLdsAperture + 0xffffffffu);
  wave.set_scalar_64(kPrivateBase, kScratchAperture);
  wave.set_scalar_64(kPrivateLimit, kScratchAperture + 0xffffffffu);
  int at = set_user_scalars(wave, memory);
  for (int axis = 0; axis < 3; ++axis)
    if (descriptor_.resources_2 >> (7 + axis) & 1) wave.set_scalar(at++, group.id[axis]);
  if (descriptor_.resources_2 & kGroupInfo) wave.set_scalar(at++, 0);
  if ((descriptor_.resources_2 & kScratchEnabled) && has_scratch_offset(program_.isa)) wave.set_scalar(at++, 0);
}

}  // namespace rocm_perf::softgpu
