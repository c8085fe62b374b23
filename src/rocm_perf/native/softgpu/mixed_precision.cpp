#include "softgpu/arithmetic.h"
#include "softgpu/lanes.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

// A source of v_fma_mix: a float, or one half of a register.
class MixedSource {
 public:
  MixedSource(Wave& wave, const Instruction& instruction, int ordinal) {
    const Modifiers& modifiers = instruction.modifiers;
    const Operand& operand = instruction.operands[ordinal + 1];
    uint32_t are_halves = modifiers.op_sel_hi == kNotPrinted ? 0 : modifiers.op_sel_hi;
    bool is_half = (are_halves >> ordinal & 1) && operand.kind != Operand::kConstant;
    bool is_high = modifiers.op_sel >> ordinal & 1;
    Operand plain = operand;
    plain.negate = plain.absolute = false;
    Instruction unsigned_one;
    unsigned_one.operands[0] = plain;
    const uint32_t* words = source_word(wave, unsigned_one, 0, ordinal, Type::kB32, 0, space_);
    for (int lane = 0; lane < wave.size; ++lane) {
      float value = is_half ? float_of_half(static_cast<uint16_t>(is_high ? words[lane] >> 16 : words[lane]))
                            : bits<float>(words[lane]);
      if (operand.absolute) value = std::fabs(value);
      values_[lane] = operand.negate ? -value : value;
    }
  }
  float operator[](int lane) const { return values_[lane]; }

 private:
  Register space_;
  float values_[kLanes];
};

float clamped(const Instruction& instruction, float value) {
  return !instruction.modifiers.clamp ? value : value > 0 ? (value < 1 ? value : 1) : 0;
}

void mix(Wave& wave, const Instruction& instruction) {
  MixedSource a(wave, instruction, 0), b(wave, instruction, 1), c(wave, instruction, 2);
  Register result;
  each_lane(wave, [&](int lane) {
    result.lane[lane] = bits<uint32_t>(clamped(instruction, std::fma(a[lane], b[lane], c[lane])));
  });
  put(wave, instruction, 0, result, Type::kB32);
}

// The product and sum are rounded to float, then to half, into one half of the result's register.
template <bool is_high>
void mix_half(Wave& wave, const Instruction& instruction) {
  MixedSource a(wave, instruction, 0), b(wave, instruction, 1), c(wave, instruction, 2);
  const Register& old = wave.vectors[instruction.operands[0].index];
  Register result;
  each_lane(wave, [&](int lane) {
    uint32_t half = half_of_float(clamped(instruction, std::fma(a[lane], b[lane], c[lane])));
    result.lane[lane] = is_high ? (old.lane[lane] & 0xffffu) | half << 16 : (old.lane[lane] & 0xffff0000u) | half;
  });
  put(wave, instruction, 0, result, Type::kB32);
}

template <typename T>
float dot_of_pairs(uint32_t a, uint32_t b, float c) {
  auto product = [&](int shift) {
    return double{float{T::of(static_cast<uint16_t>(a >> shift))}} *
           double{float{T::of(static_cast<uint16_t>(b >> shift))}};
  };
  return static_cast<float>(product(0) + product(16) + double{c});
}

// v_dot4_i32_iu8: a bit of neg_lo says that a source is signed.
void dot_of_mixed_bytes(Wave& wave, const Instruction& instruction) {
  Source<uint32_t> a(wave, instruction, 1, 0), b(wave, instruction, 2, 1);
  Source<int32_t> c(wave, instruction, 3, 2);
  uint32_t are_signed = instruction.modifiers.neg_lo;
  auto byte = [&](uint32_t word, int shift, int source) {
    uint32_t value = word >> shift & 0xff;
    return are_signed >> source & 1 ? sign_extended(value, 8) : static_cast<int32_t>(value);
  };
  Result<int32_t> result;
  for (int lane = 0; lane < wave.size; ++lane) {
    int64_t sum = c[lane];
    for (int shift = 0; shift < 32; shift += 8) sum += byte(a[lane], shift, 0) * byte(b[lane], shift, 1);
    result.set(lane, static_cast<int32_t>(sum));
  }
  result.put_into(wave, instruction, 0);
}

constexpr std::array<Type, kMostOperands> kFour = {Type::kF32, Type::kF32, Type::kF32, Type::kF32};

}  // namespace

Table mixed_precision() {
  auto half_dot = vector([](uint32_t a, uint32_t b, float c) { return dot_of_pairs<Half>(a, b, c); });
  auto bfloat_dot = vector([](uint32_t a, uint32_t b, float c) { return dot_of_pairs<BFloat>(a, b, c); });
  return {
      {"v_fma_mix_f32", {mix, kFour}},
      {"v_fma_mixlo_f16", {mix_half<false>, kFour}},
      {"v_fma_mixhi_f16", {mix_half<true>, kFour}},
      {"v_dot2_f32_f16", half_dot},
      {"v_dot2c_f32_f16", half_dot},
      {"v_dot2acc_f32_f16", half_dot},
      {"v_dot2_f32_bf16", bfloat_dot},
      {"v_dot2c_f32_bf16", bfloat_dot},
      {"v_dot2acc_f32_bf16", bfloat_dot},
      {"v_dot4_i32_iu8", {dot_of_mixed_bytes, {Type::kB32, Type::kB32, Type::kB32, Type::kB32}}},
  };
}

}  // namespace rocm_perf::softgpu
