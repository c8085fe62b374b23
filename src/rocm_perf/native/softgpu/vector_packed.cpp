#include "softgpu/arithmetic.h"
#include "softgpu/lanes.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

// Which parts of its sources each half of a packed result takes, and with which sign.
class Selection {
 public:
  explicit Selection(const Modifiers& modifiers) : modifiers_(modifiers) {}
  bool takes_high(bool is_high_result, std::size_t source) const {
    return (is_high_result ? modifiers_.op_sel_hi : modifiers_.op_sel) >> source & 1;
  }
  bool negates(bool is_high_result, std::size_t source) const {
    return (is_high_result ? modifiers_.neg_hi : modifiers_.neg_lo) >> source & 1;
  }

 private:
  const Modifiers& modifiers_;
};

template <typename T>
T half_of(const Selection& selection, bool is_high, std::size_t source, uint32_t word) {
  uint32_t half = selection.takes_high(is_high, source) ? word >> 16 : word;
  return of_word<T>((half ^ (selection.negates(is_high, source) ? 0x8000u : 0)) & 0xffffu);
}

template <typename Method>
struct PackedSignature;

template <typename T, typename Class, typename... A>
struct PackedSignature<T (Class::*)(A...) const> {
  static constexpr Type kType = std::is_same_v<T, Half> ? Type::kPackedF16 : Type::kPacked16;
  static constexpr std::array<Type, kMostOperands> kTypes = {kType, kType, kType, kType};

  template <typename F>
  static void run(Wave& wave, const Instruction& instruction) {
    run_with<F>(wave, instruction, std::index_sequence_for<A...>());
  }

 private:
  template <typename F, std::size_t... N>
  static void run_with(Wave& wave, const Instruction& instruction, std::index_sequence<N...>) {
    run_lanes<F, N...>(wave, instruction, Source<uint32_t>(wave, instruction, N + 1, N)...);
  }

  template <typename F, std::size_t... N, typename... Words>
  static void run_lanes(Wave& wave, const Instruction& instruction, const Words&... words) {
    Selection selection(instruction.modifiers);
    Result<uint32_t> result;
    for (int lane = 0; lane < wave.size; ++lane) {
      T low = clamped(instruction, F{}(half_of<A>(selection, false, N, words[lane])...));
      T high = clamped(instruction, F{}(half_of<A>(selection, true, N, words[lane])...));
      result.set(lane, to_word(low) | to_word(high) << 16);
    }
    result.put_into(wave, instruction, 0);
  }

  static T clamped(const Instruction& instruction, T value) {
    if constexpr (std::is_same_v<T, Half>)
      if (instruction.modifiers.clamp) return float{value} > 0 ? (float{value} < 1 ? value : Half(1)) : Half(0);
    return value;
  }
};

template <typename F>
constexpr Entry halves(F) {
  using Signature = PackedSignature<decltype(&F::operator())>;
  return {Signature::template run<F>, Signature::kTypes};
}

// Two floats in a pair of registers: both halves are computed before either is written.
template <int kSources, typename F>
void run_pair(Wave& wave, const Instruction& instruction) {
  Selection selection(instruction.modifiers);
  Register spaces[kSources][2], results[2];
  for (int half = 0; half < 2; ++half) {
    const uint32_t* taken[kSources];
    uint32_t signs[kSources];
    for (int source = 0; source < kSources; ++source) {
      auto at = static_cast<std::size_t>(source);
      int word = selection.takes_high(half, at);
      taken[source] = source_word(wave, instruction, source + 1, source, Type::kF32, word, spaces[source][half]);
      signs[source] = selection.negates(half, at) ? 0x80000000u : 0;
    }
    each_lane(wave, [&](int lane) {
      float values[3] = {};
      for (int source = 0; source < kSources; ++source)
        values[source] = bits<float>(taken[source][lane] ^ signs[source]);
      results[half].lane[lane] = bits<uint32_t>(F{}(values[0], values[1], values[2]));
    });
  }
  for (int half = 0; half < 2; ++half) put(wave, instruction, 0, results[half], Type::kF32, half);
}

template <int kSources, typename F>
constexpr Entry floats(F) {
  return {run_pair<kSources, F>, {Type::kPackedF32, Type::kPackedF32, Type::kPackedF32, Type::kPackedF32}};
}

// The lower word of the result is a word of the first source, the upper one of the second.
void move_pair(Wave& wave, const Instruction& instruction) {
  uint32_t selected = instruction.modifiers.op_sel;
  Register spaces[2], results[2];
  for (int half = 0; half < 2; ++half) {
    int word = static_cast<int>(selected >> half & 1);
    const uint32_t* taken = source_word(wave, instruction, half + 1, half, Type::kB32, word, spaces[half]);
    each_lane(wave, [&](int lane) { results[half].lane[lane] = taken[lane]; });
  }
  for (int half = 0; half < 2; ++half) put(wave, instruction, 0, results[half], Type::kB32, half);
}

uint16_t low_16(uint32_t value) { return static_cast<uint16_t>(value); }

}  // namespace

Table vector_packed() {
  return {
      {"v_pk_add_f16", halves([](Half a, Half b) { return Half(float{a} + float{b}); })},
      {"v_pk_mul_f16", halves([](Half a, Half b) { return Half(float{a} * float{b}); })},
      {"v_pk_min_f16", halves([](Half a, Half b) { return Half(minimum(float{a}, float{b})); })},
      {"v_pk_max_f16", halves([](Half a, Half b) { return Half(maximum(float{a}, float{b})); })},
      {"v_pk_fma_f16", halves([](Half a, Half b, Half c) { return fused_half(a, b, c); })},
      {"v_pk_fmac_f16", halves([](Half a, Half b, Half c) { return fused_half(a, b, c); })},
      {"v_pk_add_u16", halves([](uint16_t a, uint16_t b) { return low_16(uint32_t{a} + b); })},
      {"v_pk_add_i16", halves([](uint16_t a, uint16_t b) { return low_16(uint32_t{a} + b); })},
      {"v_pk_sub_u16", halves([](uint16_t a, uint16_t b) { return low_16(uint32_t{a} - b); })},
      {"v_pk_sub_i16", halves([](uint16_t a, uint16_t b) { return low_16(uint32_t{a} - b); })},
      {"v_pk_mul_lo_u16", halves([](uint16_t a, uint16_t b) { return low_16(uint32_t{a} * b); })},
      {"v_pk_mad_u16", halves([](uint16_t a, uint16_t b, uint16_t c) { return low_16(uint32_t{a} * b + c); })},
      {"v_pk_mad_i16", halves([](uint16_t a, uint16_t b, uint16_t c) { return low_16(uint32_t{a} * b + c); })},
      {"v_pk_min_u16", halves([](uint16_t a, uint16_t b) { return a < b ? a : b; })},
      {"v_pk_max_u16", halves([](uint16_t a, uint16_t b) { return a > b ? a : b; })},
      {"v_pk_min_i16", halves([](int16_t a, int16_t b) { return a < b ? a : b; })},
      {"v_pk_max_i16", halves([](int16_t a, int16_t b) { return a > b ? a : b; })},
      {"v_pk_lshlrev_b16", halves([](uint16_t a, uint16_t b) { return low_16(uint32_t{b} << (a & 15)); })},
      {"v_pk_lshrrev_b16", halves([](uint16_t a, uint16_t b) { return low_16(uint32_t{b} >> (a & 15)); })},
      {"v_pk_ashrrev_i16", halves([](int16_t a, int16_t b) { return static_cast<int16_t>(b >> (a & 15)); })},
      {"v_pk_add_f32", floats<2>([](float a, float b, float) { return a + b; })},
      {"v_pk_mul_f32", floats<2>([](float a, float b, float) { return a * b; })},
      {"v_pk_fma_f32", floats<3>([](float a, float b, float c) { return std::fma(a, b, c); })},
      {"v_pk_mov_b32", {move_pair, {Type::kPackedF32, Type::kPackedF32, Type::kPackedF32}}},
  };
}

}  // namespace rocm_perf::softgpu
