#include "softgpu/register_index.h"

#include "softgpu/failure.h"
#include "softgpu/registry.h"
#include "softgpu/scalar.h"

namespace rocm_perf::softgpu {
namespace {

constexpr uint8_t kResult = 8;  // the bit of s_set_gpr_idx_on for the result; 1, 2 and 4 are the sources

void move_by(const Wave& wave, const Instruction& instruction, Operand& operand, uint32_t by) {
  if (operand.kind != Operand::kVector) return;
  if (operand.index + by + operand.words > wave.vectors.size())
    throw failed_at(instruction, "the register that M0 leads to does not exist");
  operand.index = static_cast<uint16_t>(operand.index + by);
}

void set_index(Wave& wave, uint32_t index) { wave.set_scalar(kM0, (wave.scalars[kM0] & ~0xffu) | (index & 0xffu)); }

void index_on(Wave& wave, const Instruction& instruction) {
  set_index(wave, scalar_source<uint32_t>(wave, instruction.operands[0]));
  wave.indexed = static_cast<uint8_t>(instruction.word >> 8 & 0xfu);
}

void index_off(Wave& wave, const Instruction&) { wave.indexed = 0; }

void index_mode(Wave& wave, const Instruction& instruction) { wave.indexed = instruction.word & 0xfu; }

void index_again(Wave& wave, const Instruction& instruction) {
  set_index(wave, scalar_source<uint32_t>(wave, instruction.operands[0]));
}

template <bool moves_result, bool moves_source>
void move_relative(Wave& wave, const Instruction& instruction) {
  uint32_t by = wave.scalars[kM0];
  Operand to = instruction.operands[0], from = instruction.operands[1];
  if (moves_result) move_by(wave, instruction, to, by);
  if (moves_source) move_by(wave, instruction, from, by);
  bool is_vector = from.kind == Operand::kVector;
  each_active_lane(wave, [&](int lane) {
    wave.vectors[to.index].lane[lane] = is_vector ? wave.vectors[from.index].lane[lane] : scalar_word(wave, from, 0);
  });
}

}  // namespace

void run_indexed(Wave& wave, const Instruction& instruction) {
  Instruction moved = instruction;
  uint32_t by = wave.scalars[kM0] & 0xffu;
  for (int at = 0; at < moved.operand_count; ++at) {
    uint8_t bit = at == 0 ? kResult : static_cast<uint8_t>(1 << (at - 1));
    if (wave.indexed & bit) move_by(wave, instruction, moved.operands[at], by);
  }
  moved.run(wave, moved);
}

Table register_index() {
  constexpr std::array<Type, kMostOperands> kTypes = {Type::kB32, Type::kB32};
  return {
      {"s_set_gpr_idx_on", {index_on, kTypes}},
      {"s_set_gpr_idx_off", {index_off}},
      {"s_set_gpr_idx_mode", {index_mode}},
      {"s_set_gpr_idx_idx", {index_again, kTypes}},
      {"v_movrels_b32", {move_relative<false, true>, kTypes}},
      {"v_movreld_b32", {move_relative<true, false>, kTypes}},
      {"v_movrelsd_b32", {move_relative<true, true>, kTypes}},
  };
}

}  // namespace rocm_perf::softgpu
