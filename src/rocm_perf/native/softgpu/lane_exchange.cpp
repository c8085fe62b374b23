#include "softgpu/lanes.h"
#include "softgpu/registry.h"
#include "softgpu/scalar.h"

namespace rocm_perf::softgpu {
namespace {

int first_active(const Wave& wave) {
  uint64_t exec = wave.exec();
  return exec ? __builtin_ctzll(exec) : 0;
}

uint32_t lane_value(const Wave& wave, const Operand& source, int lane) {
  return source.kind == Operand::kVector ? wave.vectors[source.index].lane[lane] : scalar_word(wave, source, 0);
}

void read_first_lane(Wave& wave, const Instruction& instruction) {
  put_scalar(wave, instruction.operands[0], lane_value(wave, instruction.operands[1], first_active(wave)));
}

void read_lane(Wave& wave, const Instruction& instruction) {
  int lane = static_cast<int>(scalar_word(wave, instruction.operands[2], 0)) & (wave.size - 1);
  put_scalar(wave, instruction.operands[0], lane_value(wave, instruction.operands[1], lane));
}

void write_lane(Wave& wave, const Instruction& instruction) {
  int lane = static_cast<int>(scalar_word(wave, instruction.operands[2], 0)) & (wave.size - 1);
  wave.vectors[instruction.operands[0].index].lane[lane] = scalar_word(wave, instruction.operands[1], 0);
}

template <bool is_high>
void count_bits_below(Wave& wave, const Instruction& instruction) {
  Source<uint32_t> mask(wave, instruction, 1, 0), start(wave, instruction, 2, 1);
  Result<uint32_t> result;
  each_lane(wave, [&](int lane) {
    int below = is_high ? (lane > 32 ? lane - 32 : 0) : (lane < 32 ? lane : 32);
    uint32_t counted = lower(uint64_t{mask[lane]}, static_cast<unsigned>(below));
    result.set(lane, start[lane] + static_cast<uint32_t>(__builtin_popcount(counted)));
  });
  result.put_into(wave, instruction, 0);
}

// ds_bpermute: each lane takes the value of the lane that its address names. Inactive lanes give 0.
void pull(Wave& wave, const Instruction& instruction) {
  const Register& address = wave.vectors[instruction.operands[1].index];
  Register values = wave.vectors[instruction.operands[2].index];
  const Register& active = active_lanes(wave);
  for (int lane = 0; lane < wave.size; ++lane) values.lane[lane] &= active.lane[lane];
  auto offset = static_cast<uint32_t>(instruction.modifiers.offset);
  Result<uint32_t> result;
  for (int lane = 0; lane < wave.size; ++lane) {
    int from = static_cast<int>((address.lane[lane] + offset) / 4) & (wave.size - 1);
    result.set(lane, values.lane[from]);
  }
  result.put_into(wave, instruction, 0);
}

// ds_permute: each lane sends its value to the lane that its address names; of several, the highest wins.
void push(Wave& wave, const Instruction& instruction) {
  const Register& address = wave.vectors[instruction.operands[1].index];
  const Register values = wave.vectors[instruction.operands[2].index];
  auto offset = static_cast<uint32_t>(instruction.modifiers.offset);
  Register result{};
  each_active_lane(wave, [&](int lane) {
    result.lane[((address.lane[lane] + offset) / 4) & static_cast<uint32_t>(wave.size - 1)] = values.lane[lane];
  });
  put(wave, instruction, 0, result, Type::kB32);
}

// The source lane of ds_swizzle (AMD, CDNA 3 ISA: DS_SWIZZLE_B32).
int swizzled(uint32_t pattern, int lane) {
  if (pattern & 0x8000u) {
    if ((pattern & 0xf000u) == 0xc000u) {  // rotation within 32 lanes; bit 10: to the left
      int amount = static_cast<int>(pattern >> 5 & 0x1fu);
      int moved = pattern & 0x400u ? lane + 32 - amount : lane + amount;
      return (lane & ~31) | (moved & 31);
    }
    return (lane & ~3) | static_cast<int>(pattern >> (2 * (lane & 3)) & 3);
  }
  uint32_t place = static_cast<uint32_t>(lane) & 31;
  uint32_t moved = ((place & (pattern & 0x1fu)) | (pattern >> 5 & 0x1fu)) ^ (pattern >> 10 & 0x1fu);
  return (lane & ~31) | static_cast<int>(moved & 31);
}

void swizzle(Wave& wave, const Instruction& instruction) {
  const Register values = wave.vectors[instruction.operands[1].index];
  uint32_t pattern = instruction.word & 0xffffu;  // newer disassemblers print it in words
  uint64_t exec = wave.exec();
  Register result{};
  for (int lane = 0; lane < wave.size; ++lane) {
    int from = swizzled(pattern, lane);
    result.lane[lane] = exec >> from & 1 ? values.lane[from] : 0;
  }
  put(wave, instruction, 0, result, Type::kB32);
}

// v_permlane16: within rows of 16 lanes; v_permlanex16: from the other row of a pair.
template <bool is_crossed>
void permute_row(Wave& wave, const Instruction& instruction) {
  const Register values = wave.vectors[instruction.operands[1].index];
  uint64_t lanes = scalar_word(wave, instruction.operands[2], 0) |
                   static_cast<uint64_t>(scalar_word(wave, instruction.operands[3], 0)) << 32;
  bool takes_inactive = instruction.modifiers.op_sel & 1, zeroes_inactive = instruction.modifiers.op_sel >> 1 & 1;
  uint64_t exec = wave.exec();
  Register result = wave.vectors[instruction.operands[0].index];
  for (int lane = 0; lane < wave.size; ++lane) {
    int row = (lane & ~15) ^ (is_crossed ? 16 : 0);
    int from = row + static_cast<int>(lanes >> (4 * (lane & 15)) & 15);
    if (takes_inactive || (exec >> from & 1))
      result.lane[lane] = values.lane[from];
    else if (zeroes_inactive)
      result.lane[lane] = 0;
  }
  put(wave, instruction, 0, result, Type::kB32);
}

void swap_halves(Wave& wave, const Instruction& instruction) {
  const Register values = wave.vectors[instruction.operands[1].index];
  Register result;
  for (int lane = 0; lane < kLanes; ++lane) result.lane[lane] = values.lane[lane ^ 32];
  put(wave, instruction, 0, result, Type::kB32);
}

}  // namespace

Table lane_exchange() {
  return {
      {"v_readfirstlane_b32", {read_first_lane, {Type::kB32, Type::kB32}}},
      {"v_readlane_b32", {read_lane, {Type::kB32, Type::kB32, Type::kB32}}},
      {"v_writelane_b32", {write_lane, {Type::kB32, Type::kB32, Type::kB32}}},
      {"v_mbcnt_lo_u32_b32", {count_bits_below<false>, {Type::kB32, Type::kB32, Type::kB32}}},
      {"v_mbcnt_hi_u32_b32", {count_bits_below<true>, {Type::kB32, Type::kB32, Type::kB32}}},
      {"ds_bpermute_b32", {pull}},
      {"ds_permute_b32", {push}},
      {"ds_swizzle_b32", {swizzle}},
      {"v_permlane16_b32", {permute_row<false>, {Type::kB32, Type::kB32, Type::kB32, Type::kB32}}},
      {"v_permlanex16_b32", {permute_row<true>, {Type::kB32, Type::kB32, Type::kB32, Type::kB32}}},
      {"v_permlane64_b32", {swap_halves}},
  };
}

}  // namespace rocm_perf::softgpu
