#include "softgpu/lanes.h"

#include "softgpu/lane_moves.h"

namespace rocm_perf::softgpu {
namespace {

uint32_t sign_bit(Type type) { return type == Type::kF16 ? 0x8000u : 0x80000000u; }

bool has_sign(Type type, int word) {
  // Words without a type can have signs too: v_cndmask_b32 takes them.
  return type == Type::kF32 || type == Type::kB32 || type == Type::kF16 || (type == Type::kF64 && word == 1);
}

void fill(Register& space, uint32_t value) {
  for (uint32_t& lane : space.lane) lane = value;
}

void raw_source(const Wave& wave, const Operand& source, int word, Register& space) {
  if (source.kind == Operand::kVector) {
    space = wave.vectors[source.index + word];
  } else if (source.kind == Operand::kScalar) {
    int index = source.words > 1 || word == 0 ? source.index + word : source.index;
    fill(space, source.index == kNull ? 0 : wave.scalars[index]);
  } else {
    fill(space, static_cast<uint32_t>(source.value >> (32 * word)));
  }
}

uint32_t part_of(uint32_t value, Part part, bool sign_extend) {
  switch (part) {
    case Part::kDword:
      return value;
    case Part::kWord0:
    case Part::kWord1: {
      uint32_t half = part == Part::kWord1 ? value >> 16 : value & 0xffffu;
      return sign_extend ? static_cast<uint32_t>(sign_extended(half, 16)) : half;
    }
    default: {
      uint32_t byte = value >> (8 * (static_cast<int>(part) - static_cast<int>(Part::kByte0))) & 0xffu;
      return sign_extend ? static_cast<uint32_t>(sign_extended(byte, 8)) : byte;
    }
  }
}

void apply_signs(const Operand& source, Type type, int word, Register& space) {
  if (!has_sign(type, word)) return;
  uint32_t sign = sign_bit(type);
  for (uint32_t& lane : space.lane) lane = (source.absolute ? lane & ~sign : lane) ^ (source.negate ? sign : 0);
}

void flush(Register& space) {
  for (uint32_t& lane : space.lane)
    if (!(lane & 0x7f800000u)) lane &= 0x80000000u;
}

void scale_and_clamp(const Instruction& instruction, Type type, Register& result) {
  static constexpr float kScales[] = {1, 2, 4, 0.5f};
  const Modifiers& modifiers = instruction.modifiers;
  bool is_half = type == Type::kF16;
  if (!is_half && type != Type::kF32) return;
  for (uint32_t& lane : result.lane) {
    float value = is_half ? float_of_half(static_cast<uint16_t>(lane)) : bits<float>(lane);
    value *= kScales[modifiers.output_scale];
    if (modifiers.clamp) value = value > 0 ? (value < 1 ? value : 1) : 0;  // NaN becomes 0, as DX10_CLAMP has it
    lane = is_half ? half_of_float(value) : bits<uint32_t>(value);
  }
}

// The result of SDWA: a part of the register, the rest as the instruction says.
uint32_t with_part(uint32_t old, uint32_t value, Part part, Unused unused) {
  if (part == Part::kDword) return value;
  bool is_word = part == Part::kWord0 || part == Part::kWord1;
  int width = is_word ? 16 : 8;
  int shift = is_word ? 16 * (part == Part::kWord1) : 8 * (static_cast<int>(part) - static_cast<int>(Part::kByte0));
  uint32_t field = lower(value, width) << shift;
  if (unused == Unused::kPreserve) return (old & ~(lower(~0u, width) << shift)) | field;
  if (unused == Unused::kPad) return field;
  return static_cast<uint32_t>(sign_extended(value, width)) << shift;
}

void place(const Instruction& instruction, const Register& old, Type type, Register& result) {
  const Modifiers& modifiers = instruction.modifiers;
  if (modifiers.is_sdwa)
    for (int lane = 0; lane < kLanes; ++lane)
      result.lane[lane] = with_part(old.lane[lane], result.lane[lane], modifiers.destination_part, modifiers.unused);
  if (type != Type::kF16 && type != Type::kB16) return;
  if (instruction.high_result)
    for (int lane = 0; lane < kLanes; ++lane) result.lane[lane] = (old.lane[lane] & 0xffffu) | result.lane[lane] << 16;
  else if (instruction.keeps_high)
    for (int lane = 0; lane < kLanes; ++lane)
      result.lane[lane] = (old.lane[lane] & 0xffff0000u) | (result.lane[lane] & 0xffffu);
}

void blend(Register& target, const Register& result, const Register& mask, int size) {
  for (int block = 0; block < size; block += 32)
    for (int lane = block; lane < block + 32; ++lane)
      target.lane[lane] = (result.lane[lane] & mask.lane[lane]) | (target.lane[lane] & ~mask.lane[lane]);
}

void expand(uint64_t mask, Register& into) {
  for (int lane = 0; lane < kLanes; ++lane) into.lane[lane] = mask >> lane & 1 ? ~0u : 0;
}

}  // namespace

const Register& active_lanes(Wave& wave) {
  uint64_t exec = wave.exec();
  if (exec != wave.active_exec) {
    expand(exec, wave.active);
    wave.active_exec = exec;
  }
  return wave.active;
}

const uint32_t* made_source(Wave& wave, const Instruction& instruction, int operand, int ordinal, Type type, int word,
                            Register& space) {
  const Operand& source = instruction.operands[operand];
  const Modifiers& modifiers = instruction.modifiers;
  raw_source(wave, source, word, space);
  if (modifiers.moves.kind != LaneMoves::kNone && ordinal == 0) move_lanes(wave, modifiers.moves, space);
  if (modifiers.is_sdwa && ordinal < 2)
    for (uint32_t& lane : space.lane) lane = part_of(lane, modifiers.source_parts[ordinal], source.sign_extend);
  if (source.high)
    for (uint32_t& lane : space.lane) lane >>= 16;
  if (type == Type::kF32 && wave.flushes_f32()) flush(space);
  if (source.negate || source.absolute) apply_signs(source, type, word, space);
  return space.lane;
}

void put(Wave& wave, const Instruction& instruction, int operand, Register& result, Type type, int word) {
  const Operand& destination = instruction.operands[operand];
  Register& target = wave.vectors[destination.index + word];
  const Modifiers& modifiers = instruction.modifiers;
  if (type == Type::kF32 && wave.flushes_f32()) flush(result);
  if (!instruction.is_plain && (modifiers.clamp || modifiers.output_scale)) scale_and_clamp(instruction, type, result);
  if (!instruction.is_plain || type == Type::kF16 || type == Type::kB16) place(instruction, target, type, result);
  if (modifiers.moves.kind != LaneMoves::kNone) {
    Register mask;
    expand(wave.exec() & written_lanes(wave, modifiers.moves), mask);
    blend(target, result, mask, wave.size);
  } else {
    blend(target, result, active_lanes(wave), wave.size);
  }
}

void put_mask(Wave& wave, const Instruction& instruction, uint64_t mask) {
  uint64_t exec = wave.exec();
  const Operand& destination = instruction.operands[0];
  if (destination.kind == Operand::kScalar) wave.set_lane_mask(destination.index, mask & exec);
  if (instruction.sets_exec) wave.set_lane_mask(kExec, mask & exec);
}

}  // namespace rocm_perf::softgpu
