#include "softgpu/address.h"

#include <algorithm>

#include "softgpu/lds_banks.h"

namespace rocm_perf::softgpu {
namespace {

const uint32_t* words_at(const Wave& wave, const Operand& operand, int word = 0) {
  return operand.kind == Operand::kVector ? wave.vectors[operand.index + word].lane : nullptr;
}

uint64_t scalar_part(const Wave& wave, const Operand& operand) {
  if (operand.kind == Operand::kConstant) return operand.value;
  return operand.kind == Operand::kScalar && operand.index != kNull ? wave.scalars[operand.index] : 0;
}

Addresses global(const Wave& wave, const Instruction& instruction, Pointer pointer) {
  Addresses addresses;
  const Operand& vector = instruction.operands[pointer.vector];
  const Operand& scalar = instruction.operands[pointer.scalar];
  const uint32_t* low = words_at(wave, vector);
  uint64_t offset = static_cast<uint64_t>(instruction.modifiers.offset);
  if (pointer.scalar < instruction.operand_count && scalar.kind == Operand::kScalar && scalar.index != kNull) {
    uint64_t base = wave.scalar_64(scalar.index) + offset;
    for (int lane = 0; lane < kLanes; ++lane) addresses.lane[lane] = base + low[lane];
  } else {
    const uint32_t* high = words_at(wave, vector, 1);
    for (int lane = 0; lane < kLanes; ++lane)
      addresses.lane[lane] = (low[lane] | static_cast<uint64_t>(high[lane]) << 32) + offset;
  }
  return addresses;
}

// A lane's own memory: the address is an offset into it.
Addresses scratch(const Wave& wave, const Instruction& instruction, Pointer pointer) {
  Addresses addresses;
  const uint32_t* vector = words_at(wave, instruction.operands[pointer.vector]);
  uint32_t shared = static_cast<uint32_t>(scalar_part(wave, instruction.operands[pointer.scalar]) +
                                          static_cast<uint64_t>(instruction.modifiers.offset));
  for (int lane = 0; lane < kLanes; ++lane) addresses.lane[lane] = (vector ? vector[lane] : 0) + shared;
  return addresses;
}

// A buffer's descriptor (AMD, CDNA 3 ISA: buffer resource): base, stride and the number of records.
struct Buffer {
  Buffer(const Wave& wave, int descriptor)
      : base(wave.scalar_64(descriptor) & 0xffffffffffffu),
        stride(wave.scalars[descriptor + 1] >> 16 & 0x3fffu),
        records(wave.scalars[descriptor + 2]) {}
  bool is_scratch() const { return base >> 48 == 0 && base >= kBufferScratch && base < kBufferScratch + kMostScratch; }

  uint64_t base;
  uint32_t stride, records;
};

Addresses buffer(const Wave& wave, const Instruction& instruction, Pointer pointer, uint64_t size) {
  Addresses addresses;
  const Modifiers& modifiers = instruction.modifiers;
  const Operand& vector = instruction.operands[pointer.vector];
  Buffer descriptor(wave, instruction.operands[pointer.scalar].index);
  uint64_t shared = scalar_part(wave, instruction.operands[pointer.scalar + 1]);
  if (descriptor.is_scratch()) shared /= static_cast<uint64_t>(wave.size);  // a stack pointer counts all lanes' bytes
  const uint32_t* index = modifiers.idxen ? words_at(wave, vector) : nullptr;
  const uint32_t* offset = modifiers.offen ? words_at(wave, vector, modifiers.idxen ? 1 : 0) : nullptr;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint64_t inside = (offset ? offset[lane] : 0) + static_cast<uint64_t>(modifiers.offset);
    uint64_t record = index ? index[lane] : 0;
    bool is_inside = descriptor.is_scratch() ||
                     (descriptor.stride && index ? record < descriptor.records : inside + size <= descriptor.records);
    addresses.lane[lane] = is_inside ? descriptor.base + shared + record * descriptor.stride + inside : kNothing;
  }
  return addresses;
}

Addresses lds(const Wave& wave, const Instruction& instruction, Pointer pointer) {
  Addresses addresses;
  const uint32_t* vector = words_at(wave, instruction.operands[pointer.vector]);
  uint32_t offset = static_cast<uint32_t>(instruction.modifiers.offset);
  for (int lane = 0; lane < kLanes; ++lane) addresses.lane[lane] = vector[lane] + offset;
  return addresses;
}

unsigned char* in_scratch(Wave& wave, int lane, uint64_t offset, uint64_t size, bool is_write) {
  if (offset > wave.scratch_size || size > wave.scratch_size - offset)
    throw OutsideMemory{kScratchAperture + offset, size, is_write};
  return wave.scratch.data() + static_cast<uint64_t>(lane) * wave.scratch_size + offset;
}

unsigned char* in_lds(Wave& wave, uint64_t offset, uint64_t size, bool is_write) {
  if (offset > wave.group->lds.size() || size > wave.group->lds.size() - offset)
    throw OutsideMemory{kLdsAperture + offset, size, is_write};
  return wave.group->lds.data() + offset;
}

uint64_t distinct_lines(const Wave& wave, const Addresses& addresses, uint64_t size, uint64_t line) {
  uint64_t lines[2 * kLanes];  // an access is at most as long as a line, so it touches at most two
  std::size_t count = 0;
  bool is_sorted = true;
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    uint64_t address = addresses.lane[__builtin_ctzll(left)];
    if (address == kNothing) continue;
    for (uint64_t number = address / line; number <= (address + size - 1) / line; ++number) {
      if (count && lines[count - 1] == number) continue;
      is_sorted = is_sorted && (!count || lines[count - 1] < number);
      lines[count++] = number;
    }
  }
  if (!is_sorted) {
    std::sort(lines, lines + count);
    count = static_cast<std::size_t>(std::unique(lines, lines + count) - lines);
  }
  return count;
}

bool is_buffer_scratch(uint64_t address) {
  return address >= kBufferScratch && address < kBufferScratch + kMostScratch;
}

// The offset into the lane's own memory; kNothing where the address is not in it.
template <Space space>
uint64_t scratch_offset(uint64_t address) {
  if constexpr (space == Space::kScratch) return address;
  if constexpr (space == Space::kBuffer)
    if (is_buffer_scratch(address)) return address - kBufferScratch;
  if constexpr (space == Space::kFlat)
    if (address >> 32 == kScratchAperture >> 32) return address - kScratchAperture;
  return kNothing;
}

void note_lines(const Wave& wave, const Addresses& addresses, uint64_t size, uint64_t times, Count& count) {
  count.lines_64 += times * distinct_lines(wave, addresses, size, 64);
  count.lines_128 += times * distinct_lines(wave, addresses, size, 128);
}

// Scratch is interleaved: words at one offset of all lanes lie beside each other (LLVM, AMDGPUUsage: private segment).
// Lines of wider accesses are those of their first words, as many times.
template <Space space>
void note_memory(const Wave& wave, const Addresses& addresses, uint64_t size, Count& count) {
  Addresses shared = addresses, own;
  uint64_t own_lanes = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint64_t offset = scratch_offset<space>(addresses.lane[lane]);
    own.lane[lane] = kNothing;
    if (offset == kNothing) continue;
    shared.lane[lane] = kNothing;
    own.lane[lane] = offset / 4 * 4 * static_cast<uint64_t>(wave.size) + 4 * static_cast<uint64_t>(lane);
    own_lanes += wave.exec() >> lane & 1;
  }
  note_lines(wave, shared, size, 1, count);
  if (!own_lanes) return;
  note_lines(wave, own, 4, (size + 3) / 4, count);
  count.scratch_bytes += size * own_lanes;
}

}  // namespace

template <Space space>
Addresses addresses_of(Wave& wave, const Instruction& instruction, Pointer pointer, uint64_t size) {
  if constexpr (space == Space::kScratch)
    return scratch(wave, instruction, pointer);
  else if constexpr (space == Space::kBuffer)
    return buffer(wave, instruction, pointer, size);
  else if constexpr (space == Space::kLds)
    return lds(wave, instruction, pointer);
  else
    return global(wave, instruction, pointer);
}

template <Space space>
unsigned char* located(Wave& wave, int lane, uint64_t address, uint64_t size, bool is_write) {
  if constexpr (space == Space::kScratch) return in_scratch(wave, lane, address, size, is_write);
  if constexpr (space == Space::kLds) return in_lds(wave, address, size, is_write);
  if constexpr (space == Space::kFlat) {
    if (address >> 32 == kLdsAperture >> 32) return in_lds(wave, address - kLdsAperture, size, is_write);
    if (address >> 32 == kScratchAperture >> 32)
      return in_scratch(wave, lane, address - kScratchAperture, size, is_write);
  }
  if constexpr (space == Space::kBuffer) {
    if (address == kNothing) return nullptr;
    if (is_buffer_scratch(address)) return in_scratch(wave, lane, address - kBufferScratch, size, is_write);
  }
  return wave.memory->at(address, size, is_write);
}

template <Space space>
void note_access(Wave& wave, const Instruction& instruction, const Addresses& addresses, uint64_t size) {
  Count* count = wave.count(instruction);
  if (!count) return;
  count->bytes += size * static_cast<uint64_t>(__builtin_popcountll(wave.exec()));
  if constexpr (space == Space::kLds) {
    note_banks(wave, addresses, size, instruction, *count);
  } else if constexpr (space == Space::kGlobal) {
    note_lines(wave, addresses, size, 1, *count);
  } else {
    note_memory<space>(wave, addresses, size, *count);
  }
}

void note_contention(Wave& wave, const Instruction& instruction, const Addresses& addresses) {
  Count* count = wave.count(instruction);
  if (!count) return;
  std::vector<uint64_t> seen;
  for (uint64_t left = wave.exec(); left; left &= left - 1) seen.push_back(addresses.lane[__builtin_ctzll(left)]);
  std::sort(seen.begin(), seen.end());
  auto distinct = std::unique(seen.begin(), seen.end()) - seen.begin();
  count->same_address += seen.size() - static_cast<std::size_t>(distinct);
}

#define SOFTGPU_SPACE(space)                                                            \
  template Addresses addresses_of<space>(Wave&, const Instruction&, Pointer, uint64_t); \
  template unsigned char* located<space>(Wave&, int, uint64_t, uint64_t, bool);         \
  template void note_access<space>(Wave&, const Instruction&, const Addresses&, uint64_t);
SOFTGPU_SPACE(Space::kGlobal)
SOFTGPU_SPACE(Space::kFlat)
SOFTGPU_SPACE(Space::kScratch)
SOFTGPU_SPACE(Space::kBuffer)
SOFTGPU_SPACE(Space::kLds)
#undef SOFTGPU_SPACE

}  // namespace rocm_perf::softgpu
