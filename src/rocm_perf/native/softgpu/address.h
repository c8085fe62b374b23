// Where the lanes of a memory instruction point to, in each of the ways in which instructions say so.
#pragma once

#include "softgpu/wave.h"

namespace rocm_perf::softgpu {

enum class Space : uint8_t { kGlobal, kFlat, kScratch, kBuffer, kLds };

struct Addresses {
  uint64_t lane[kLanes];
};

// The operands of an instruction that say where it points to.
struct Pointer {
  int vector = 1;  // the register with each lane's part
  int scalar = 2;  // what all lanes share
};

// What the vector and scalar registers and the offset add up to, in the active lanes. Of a buffer, bytes beyond its
// end have the address kNothing.
template <Space space>
Addresses addresses_of(Wave& wave, const Instruction& instruction, Pointer pointer, uint64_t size);

constexpr uint64_t kNothing = ~uint64_t{0};  // reads as 0, and writes are dropped

// Where a lane's bytes lie in this process; nullptr for kNothing.
template <Space space>
unsigned char* located(Wave& wave, int lane, uint64_t address, uint64_t size, bool is_write);

// Counts what the active lanes ask for.
template <Space space>
void note_access(Wave& wave, const Instruction& instruction, const Addresses& addresses, uint64_t size);

// Counts the lanes of an atomic instruction whose address another lane had before them.
void note_contention(Wave& wave, const Instruction& instruction, const Addresses& addresses);

}  // namespace rocm_perf::softgpu
