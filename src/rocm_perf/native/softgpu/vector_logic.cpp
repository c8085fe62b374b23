#include "softgpu/lanes.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

uint32_t reversed(uint32_t value) {
  value = (value >> 1 & 0x55555555u) | (value & 0x55555555u) << 1;
  value = (value >> 2 & 0x33333333u) | (value & 0x33333333u) << 2;
  value = (value >> 4 & 0x0f0f0f0fu) | (value & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(value);
}

uint32_t leading_zeros(uint32_t value) { return value ? static_cast<uint32_t>(__builtin_clz(value)) : ~0u; }

uint32_t field(uint32_t value, uint32_t offset, uint32_t width) { return lower(value >> (offset & 31), width & 31); }

uint32_t signed_field(uint32_t value, uint32_t offset, uint32_t width) {
  return static_cast<uint32_t>(sign_extended(field(value, offset, width), width & 31));
}

// One byte of the eight of {a, b} for each byte of the selector.
uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t both = static_cast<uint64_t>(a) << 32 | b;
  uint32_t out = 0;
  for (int at = 0; at < 4; ++at) {
    uint32_t which = selector >> (8 * at) & 0xff, byte = 0;
    if (which < 8)
      byte = both >> (8 * which) & 0xff;
    else if (which < 12)
      byte = both >> (16 * (which - 8) + 15) & 1 ? 0xff : 0;  // the sign of a half
    else
      byte = which == 12 ? 0 : 0xff;
    out |= byte << (8 * at);
  }
  return out;
}

void select(Wave& wave, const Instruction& instruction) {
  Source<uint32_t> a(wave, instruction, 1, 0), b(wave, instruction, 2, 1);
  int mask_at = instruction.operand_count > 3 ? int{instruction.operands[3].index} : int{kVcc};
  uint64_t mask = wave.lane_mask(mask_at);
  Result<uint32_t> result;
  each_lane(wave, [&](int lane) { result.set(lane, mask >> lane & 1 ? b[lane] : a[lane]); });
  result.put_into(wave, instruction, 0);
}

void select_half(Wave& wave, const Instruction& instruction) {
  Source<uint16_t> a(wave, instruction, 1, 0), b(wave, instruction, 2, 1);
  uint64_t mask = wave.lane_mask(instruction.operands[3].index);
  Result<uint16_t> result;
  each_lane(wave, [&](int lane) { result.set(lane, mask >> lane & 1 ? b[lane] : a[lane]); });
  result.put_into(wave, instruction, 0);
}

void swap(Wave& wave, const Instruction& instruction) {
  Register& a = wave.vectors[instruction.operands[0].index];
  Register& b = wave.vectors[instruction.operands[1].index];
  each_active_lane(wave, [&](int lane) { std::swap(a.lane[lane], b.lane[lane]); });
}

}  // namespace

Table vector_logic() {
  return {
      {"v_mov_b32", vector([](uint32_t a) { return a; })},
      {"v_mov_b64", vector([](uint64_t a) { return a; })},
      {"v_mov_b16", vector([](Half a) { return a; })},
      {"v_accvgpr_read_b32", vector([](uint32_t a) { return a; })},
      {"v_accvgpr_write_b32", vector([](uint32_t a) { return a; })},
      {"v_accvgpr_mov_b32", vector([](uint32_t a) { return a; })},
      {"v_and_b32", vector([](uint32_t a, uint32_t b) { return a & b; })},
      {"v_or_b32", vector([](uint32_t a, uint32_t b) { return a | b; })},
      {"v_xor_b32", vector([](uint32_t a, uint32_t b) { return a ^ b; })},
      {"v_xnor_b32", vector([](uint32_t a, uint32_t b) { return ~(a ^ b); })},
      {"v_not_b32", vector([](uint32_t a) { return ~a; })},
      {"v_and_b16", vector([](uint16_t a, uint16_t b) { return static_cast<uint16_t>(a & b); })},
      {"v_or_b16", vector([](uint16_t a, uint16_t b) { return static_cast<uint16_t>(a | b); })},
      {"v_xor_b16", vector([](uint16_t a, uint16_t b) { return static_cast<uint16_t>(a ^ b); })},
      {"v_not_b16", vector([](uint16_t a) { return static_cast<uint16_t>(~a); })},
      {"v_and_or_b32", vector([](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; })},
      {"v_or3_b32", vector([](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; })},
      {"v_xor3_b32", vector([](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; })},
      {"v_xad_u32", vector([](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; })},
      {"v_bfi_b32", vector([](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (~a & c); })},
      {"v_bfe_u32", vector([](uint32_t a, uint32_t b, uint32_t c) { return field(a, b, c); })},
      {"v_bfe_i32", vector([](uint32_t a, uint32_t b, uint32_t c) { return signed_field(a, b, c); })},
      {"v_bfm_b32", vector([](uint32_t a, uint32_t b) { return lower(~0u, a & 31) << (b & 31); })},
      {"v_perm_b32", vector([](uint32_t a, uint32_t b, uint32_t c) { return permuted(a, b, c); })},
      {"v_alignbit_b32", vector([](uint32_t a, uint32_t b, uint32_t c) {
         return static_cast<uint32_t>((static_cast<uint64_t>(a) << 32 | b) >> (c & 31));
       })},
      {"v_alignbyte_b32", vector([](uint32_t a, uint32_t b, uint32_t c) {
         return static_cast<uint32_t>((static_cast<uint64_t>(a) << 32 | b) >> (8 * (c & 3)));
       })},
      {"v_lshlrev_b32", vector([](uint32_t a, uint32_t b) { return b << (a & 31); })},
      {"v_lshrrev_b32", vector([](uint32_t a, uint32_t b) { return b >> (a & 31); })},
      {"v_ashrrev_i32", vector([](uint32_t a, int32_t b) { return b >> (a & 31); })},
      {"v_lshlrev_b64", vector([](uint32_t a, uint64_t b) { return b << (a & 63); })},
      {"v_lshrrev_b64", vector([](uint32_t a, uint64_t b) { return b >> (a & 63); })},
      {"v_ashrrev_i64", vector([](uint32_t a, int64_t b) { return b >> (a & 63); })},
      {"v_lshlrev_b16", vector([](uint16_t a, uint16_t b) { return static_cast<uint16_t>(b << (a & 15)); })},
      {"v_lshrrev_b16", vector([](uint16_t a, uint16_t b) { return static_cast<uint16_t>(b >> (a & 15)); })},
      {"v_ashrrev_i16", vector([](uint16_t a, int16_t b) { return static_cast<int16_t>(b >> (a & 15)); })},
      {"v_lshl_or_b32", vector([](uint32_t a, uint32_t b, uint32_t c) { return a << (b & 31) | c; })},
      {"v_bfrev_b32", vector([](uint32_t a) { return reversed(a); })},
      {"v_bcnt_u32_b32",
       vector([](uint32_t a, uint32_t b) { return static_cast<uint32_t>(__builtin_popcount(a)) + b; })},
      {"v_ffbl_b32", vector([](uint32_t a) { return a ? static_cast<uint32_t>(__builtin_ctz(a)) : ~0u; })},
      {"v_ffbh_u32", vector([](uint32_t a) { return leading_zeros(a); })},
      {"v_ffbh_i32", vector([](uint32_t a) { return leading_zeros(static_cast<int32_t>(a) < 0 ? ~a : a); })},
      {"v_cndmask_b32", {select, {Type::kB32, Type::kF32, Type::kF32}}},
      {"v_cndmask_b16", {select_half, {Type::kB16, Type::kB16, Type::kB16}}},
      {"v_swap_b32", {swap}},
      {"v_pack_b32_f16", vector([](Half a, Half b) { return uint32_t{a.word} | uint32_t{b.word} << 16; })},
  };
}

}  // namespace rocm_perf::softgpu
