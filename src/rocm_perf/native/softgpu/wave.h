// The state of one wave, and of the workgroup that it belongs to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "softgpu/counts.h"
#include "softgpu/instruction.h"
#include "softgpu/memory.h"
#include "softgpu/numbers.h"

namespace rocm_perf::softgpu {

constexpr int kLanes = 64;
constexpr int kAccumulators = 256;  // the number of the first AGPR among the vector registers

// Numbers of scalar registers that have names; the hardware's own differ between chips.
enum ScalarIndex : std::uint16_t {
  kVcc = 106,
  kTtmp = 108,
  kNull = 124,
  kM0 = 125,
  kExec = 126,
  kFlatScratch = 128,
  kXnackMask = 130,
  kSharedBase = 132,
  kSharedLimit = 134,
  kPrivateBase = 136,
  kPrivateLimit = 138,
  kScc = 140,
  kVccz = 141,
  kExecz = 142,
  kScalarRegisters = 144,
};

// Where LDS and scratch appear among flat addresses (as Linux's driver places them on gfx9 and later).
constexpr std::uint64_t kLdsAperture = std::uint64_t{1} << 48, kScratchAperture = std::uint64_t{2} << 48;

// The base of the descriptor of kernels that reach their scratch through a buffer: no allocation of a process lies
// there.
constexpr std::uint64_t kBufferScratch = std::uint64_t{1} << 47, kMostScratch = std::uint64_t{1} << 32;

struct Program;

struct alignas(64) Register {
  std::uint32_t lane[kLanes];
};

struct Workgroup {
  std::uint32_t id[3] = {0, 0, 0};
  std::vector<unsigned char> lds;
};

enum class Family : std::uint8_t { kGfx9, kGfx11 };

struct Wave {
  // What the wave belongs to.
  Workgroup* group = nullptr;
  Memory* memory = nullptr;
  Counts* counts = nullptr;  // nothing is counted without it
  const Program* program = nullptr;
  Family family = Family::kGfx9;
  int size = 64;             // lanes
  std::uint32_t number = 0;  // within the workgroup

  // Registers.
  std::vector<Register> vectors;  // VGPRs, and AGPRs from kAccumulators on
  std::uint32_t scalars[kScalarRegisters] = {};
  Register active{};  // all bits of the lanes in `active_exec`
  std::uint64_t active_exec = 0;
  bool scc = false;
  std::uint32_t mode = 0;  // MODE register: rounding in bits 0-3, denormals in bits 4-7
  std::uint8_t indexed =
      0;  // gfx9: operands whose register numbers M0 is added to; bits for three sources and the result
  std::vector<unsigned char> scratch;  // lane after lane
  std::uint64_t scratch_size = 0;      // of a lane

  // Where it is.
  std::uint32_t current = 0, next = 0;  // the numbers of the instructions that it executes now and after that
  enum class State : std::uint8_t { kRunning, kYielding, kAtBarrier, kEnded } state = State::kRunning;

  std::uint64_t scalar_64(int index) const {
    return scalars[index] | static_cast<std::uint64_t>(scalars[index + 1]) << 32;
  }
  void set_scalar(int index, std::uint32_t value) {
    if (index != kNull) scalars[index] = value;
  }
  void set_scalar_64(int index, std::uint64_t value) {
    if (index == kNull) return;
    scalars[index] = static_cast<std::uint32_t>(value);
    scalars[index + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  std::uint64_t all_lanes() const { return size == 64 ? ~std::uint64_t{0} : 0xffffffffu; }
  std::uint64_t exec() const { return scalar_64(kExec) & all_lanes(); }
  // A mask of lanes: two registers in waves of 64, one in waves of 32.
  std::uint64_t lane_mask(int index) const { return size == 64 ? scalar_64(index) : scalars[index]; }
  void set_lane_mask(int index, std::uint64_t mask) {
    size == 64 ? set_scalar_64(index, mask) : set_scalar(index, static_cast<std::uint32_t>(mask));
  }
  bool flushes_f32() const { return (mode >> 4 & 3) != 3; }
  Count* count(const Instruction& instruction) { return counts ? &(*counts)[instruction.number] : nullptr; }
};

}  // namespace rocm_perf::softgpu
