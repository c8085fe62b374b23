#include "softgpu/registry.h"
#include "softgpu/scalar.h"

namespace rocm_perf::softgpu {
namespace {

template <typename T>
constexpr unsigned kBits = sizeof(T) * 8;

template <typename T>
int32_t first_one(T value) {
  return value ? __builtin_ctzll(value) : -1;
}

template <typename T>
int32_t leading_zeros(T value) {
  return value ? __builtin_clzll(value) - static_cast<int>(64 - kBits<T>) : -1;
}

// How many of the highest bits are like the sign, which is not counted; -1 where all are.
int32_t leading_signs(uint32_t value) {
  uint32_t others = static_cast<int32_t>(value) < 0 ? ~value : value;
  return others ? __builtin_clz(others) : -1;
}

template <typename T>
T reversed(T value) {
  T out = 0;
  for (unsigned bit = 0; bit < kBits<T>; ++bit) out |= (value >> bit & 1) << (kBits<T> - 1 - bit);
  return out;
}

// Bit fields: the offset in bits 0 to 5 of the second operand, the width in bits 16 to 22.
template <typename T>
T field(T value, uint32_t where) {
  return lower<T>(value >> (where & (kBits<T> - 1)), where >> 16 & 0x7f);
}

template <typename T>
T signed_field(T value, uint32_t where) {
  unsigned width = where >> 16 & 0x7f;
  if (width == 0 || width >= kBits<T>) return width ? value >> (where & (kBits<T> - 1)) : 0;
  using Signed = std::make_signed_t<T>;
  unsigned shift = kBits<T> - width;
  return static_cast<T>(static_cast<Signed>(field(value, where) << shift) >> shift);
}

template <typename T>
T whole_quads(T value) {
  T out = 0;
  for (unsigned quad = 0; quad < kBits<T>; quad += 4)
    if (value >> quad & 0xf) out |= T{0xf} << quad;
  return out;
}

template <auto F>  // EXEC is combined with the source; the destination gets what it was
void save_exec(Wave& wave, const Instruction& instruction) {
  uint64_t exec = wave.lane_mask(kExec);
  bool is_wide = instruction.name.back() == '4';  // _b64
  const Operand& operand = instruction.operands[1];
  uint64_t source = is_wide ? scalar_source<uint64_t>(wave, operand) : scalar_source<uint32_t>(wave, operand);
  uint64_t combined = F(source, exec) & wave.all_lanes();
  is_wide ? put_scalar(wave, instruction.operands[0], exec)
          : put_scalar(wave, instruction.operands[0], static_cast<uint32_t>(exec));
  wave.set_lane_mask(kExec, combined);
  wave.scc = combined != 0;
}

template <auto F>  // EXEC and the destination both get the combination
void write_exec(Wave& wave, const Instruction& instruction) {
  bool is_wide = instruction.name.back() == '4';
  const Operand& operand = instruction.operands[1];
  uint64_t source = is_wide ? scalar_source<uint64_t>(wave, operand) : scalar_source<uint32_t>(wave, operand);
  uint64_t combined = F(source, wave.lane_mask(kExec)) & wave.all_lanes();
  is_wide ? put_scalar(wave, instruction.operands[0], combined)
          : put_scalar(wave, instruction.operands[0], static_cast<uint32_t>(combined));
  wave.set_lane_mask(kExec, combined);
  wave.scc = combined != 0;
}

void move_conditionally_32(Wave& wave, const Instruction& instruction) {
  if (wave.scc) put_scalar(wave, instruction.operands[0], scalar_source<uint32_t>(wave, instruction.operands[1]));
}

void move_conditionally_64(Wave& wave, const Instruction& instruction) {
  if (wave.scc) put_scalar(wave, instruction.operands[0], scalar_source<uint64_t>(wave, instruction.operands[1]));
}

template <bool is_set, typename T>
void change_bit(Wave& wave, const Instruction& instruction) {
  const Operand& target = instruction.operands[0];
  T bit = T{1} << (scalar_source<uint32_t>(wave, instruction.operands[1]) & (kBits<T> - 1));
  T old = scalar_source<T>(wave, target);
  put_scalar(wave, target, is_set ? old | bit : old & ~bit);
}

template <typename T>
void add_width(Table& table, const std::string& width) {
  table.insert(
      table.end(),
      {{"s_and_b" + width, scalar_nonzero([](T a, T b) { return a & b; })},
       {"s_or_b" + width, scalar_nonzero([](T a, T b) { return a | b; })},
       {"s_xor_b" + width, scalar_nonzero([](T a, T b) { return a ^ b; })},
       {"s_andn2_b" + width, scalar_nonzero([](T a, T b) { return a & ~b; })},
       {"s_orn2_b" + width, scalar_nonzero([](T a, T b) { return a | ~b; })},
       {"s_nand_b" + width, scalar_nonzero([](T a, T b) { return ~(a & b); })},
       {"s_nor_b" + width, scalar_nonzero([](T a, T b) { return ~(a | b); })},
       {"s_xnor_b" + width, scalar_nonzero([](T a, T b) { return ~(a ^ b); })},
       {"s_not_b" + width, scalar_nonzero([](T a) { return ~a; })},
       {"s_mov_b" + width, scalar([](T a) { return a; })},
       {"s_lshl_b" + width, scalar_nonzero([](T a, uint32_t b) { return a << (b & (kBits<T> - 1)); })},
       {"s_lshr_b" + width, scalar_nonzero([](T a, uint32_t b) { return a >> (b & (kBits<T> - 1)); })},
       {"s_ashr_i" + width,
        scalar_nonzero([](std::make_signed_t<T> a, uint32_t b) { return a >> (b & (kBits<T> - 1)); })},
       {"s_bfe_u" + width, scalar_nonzero([](T a, uint32_t b) { return field(a, b); })},
       {"s_bfe_i" + width, scalar_nonzero([](T a, uint32_t b) { return signed_field(a, b); })},
       {"s_bfm_b" + width, scalar([](uint32_t a, uint32_t b) {
          return static_cast<T>(lower<T>(~T{0}, a & (kBits<T> - 1)) << (b & (kBits<T> - 1)));
        })},
       {"s_cselect_b" + width, scalar([](T a, T b, Scc scc) { return scc.is_set ? a : b; })},
       {"s_brev_b" + width, scalar([](T a) { return reversed(a); })},
       {"s_bcnt0_i32_b" + width,
        scalar_nonzero([](T a) { return static_cast<int32_t>(kBits<T>) - __builtin_popcountll(a); })},
       {"s_bcnt1_i32_b" + width, scalar_nonzero([](T a) { return static_cast<int32_t>(__builtin_popcountll(a)); })},
       {"s_ff1_i32_b" + width, scalar([](T a) { return first_one(a); })},
       {"s_flbit_i32_b" + width, scalar([](T a) { return leading_zeros(a); })},
       {"s_wqm_b" + width, scalar_nonzero([](T a) { return whole_quads(a); })},
       {"s_bitcmp0_b" + width, scalar_test([](T a, uint32_t b) { return !(a >> (b & (kBits<T> - 1)) & 1); })},
       {"s_bitcmp1_b" + width, scalar_test([](T a, uint32_t b) { return (a >> (b & (kBits<T> - 1)) & 1) != 0; })},
       {"s_bitset0_b" + width, {change_bit<false, T>}},
       {"s_bitset1_b" + width, {change_bit<true, T>}}});
}

void add_exec(Table& table, const std::string& width) {
  auto types = sizeof(uint64_t) == 8 && width == "64" ? Type::kB64 : Type::kB32;
  auto entry = [&](Handler run) { return Entry{run, {types, types}}; };
  auto add = [&](const std::string& name, Handler run) { table.emplace_back(name + width, entry(run)); };
  add("s_and_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return s & exec; }>);
  add("s_or_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return s | exec; }>);
  add("s_xor_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return s ^ exec; }>);
  add("s_andn2_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return s & ~exec; }>);
  add("s_orn2_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return s | ~exec; }>);
  add("s_andn1_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return ~s & exec; }>);
  add("s_orn1_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return ~s | exec; }>);
  add("s_nand_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return ~(s & exec); }>);
  add("s_nor_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return ~(s | exec); }>);
  add("s_xnor_saveexec_b", save_exec<[](uint64_t s, uint64_t exec) { return ~(s ^ exec); }>);
  add("s_andn1_wrexec_b", write_exec<[](uint64_t s, uint64_t exec) { return ~s & exec; }>);
  add("s_andn2_wrexec_b", write_exec<[](uint64_t s, uint64_t exec) { return s & ~exec; }>);
}

}  // namespace

uint32_t scalar_word(const Wave& wave, const Operand& operand, int word) {
  if (operand.kind == Operand::kConstant) return static_cast<uint32_t>(operand.value >> (32 * word));
  switch (operand.index) {
    case kNull:
      return 0;
    case kScc:
      return wave.scc;
    case kVccz:
      return wave.lane_mask(kVcc) == 0;
    case kExecz:
      return wave.exec() == 0;
    default: {
      uint32_t value = wave.scalars[operand.index + word];
      return operand.absolute || operand.negate
                 ? (operand.absolute ? value & 0x7fffffffu : value) ^ (operand.negate ? 0x80000000u : 0)
                 : value;
    }
  }
}

Table scalar_logic() {
  Table table = {
      {"s_flbit_i32", scalar([](uint32_t a) { return leading_signs(a); })},
      {"s_pack_ll_b32_b16", scalar([](uint32_t a, uint32_t b) { return (a & 0xffffu) | b << 16; })},
      {"s_pack_lh_b32_b16", scalar([](uint32_t a, uint32_t b) { return (a & 0xffffu) | (b & 0xffff0000u); })},
      {"s_pack_hh_b32_b16", scalar([](uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); })},
      {"s_pack_hl_b32_b16", scalar([](uint32_t a, uint32_t b) { return a >> 16 | b << 16; })},
      {"s_cmov_b32", {move_conditionally_32, {Type::kB32, Type::kB32}}},
      {"s_cmov_b64", {move_conditionally_64, {Type::kB64, Type::kB64}}},
  };
  add_width<uint32_t>(table, "32");
  add_width<uint64_t>(table, "64");
  add_exec(table, "32");
  add_exec(table, "64");
  return table;
}

}  // namespace rocm_perf::softgpu
