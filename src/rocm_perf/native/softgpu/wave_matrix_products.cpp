// WMMA: products of 16 by 16 matrices; a lane holds a whole row or column of the sources (AMD, RDNA 3 ISA: WMMA).
#include "softgpu/matrix.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

constexpr int kSide = 16;

// Rows of the result lie in turn in each group of 16 lanes.
struct ResultPlace {
  ResultPlace(const Wave& wave, int row, int column) {
    int groups = wave.size / kSide;
    lane = column + kSide * (row % groups);
    item = row / groups;
  }
  int lane, item;
};

template <typename Source>
void read_side(const Wave& wave, const Operand& operand, bool is_negated, double (&into)[kSide][kSide]) {
  for (int at = 0; at < kSide; ++at)
    for (int k = 0; k < kSide; ++k) {
      double value = Source::of(element(wave, operand, at, k, Source::kBits));
      into[at][k] = is_negated ? -value : value;
    }
}

template <typename Source, typename Store>
void multiply(Wave& wave, const Instruction& instruction, Store store) {
  const auto& operands = instruction.operands;
  double a[kSide][kSide], b[kSide][kSide];
  read_side<Source>(wave, operands[1], instruction.modifiers.neg_lo & 1, a);
  read_side<Source>(wave, operands[2], instruction.modifiers.neg_lo & 2, b);
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      double sum = 0;
      for (int k = 0; k < kSide; ++k) sum += a[row][k] * b[column][k];
      store(ResultPlace(wave, row, column), sum);
    }
}

template <typename Source>
void to_float(Wave& wave, const Instruction& instruction) {
  multiply<Source>(wave, instruction, [&](ResultPlace place, double sum) {
    const auto& operands = instruction.operands;
    double start = bits<float>(static_cast<uint32_t>(element(wave, operands[3], place.lane, place.item, 32)));
    set_element(wave, operands[0], place.lane, place.item, 32, bits<uint32_t>(static_cast<float>(start + sum)));
  });
}

// The result takes one half of each register; op_sel says which.
template <typename Source, typename Number>
void to_narrow(Wave& wave, const Instruction& instruction) {
  int half = static_cast<int>(instruction.modifiers.op_sel >> 2 & 1);
  multiply<Source>(wave, instruction, [&](ResultPlace place, double sum) {
    const auto& operands = instruction.operands;
    bool is_constant = operands[3].kind != Operand::kVector;
    double start = Source::of(element(wave, operands[3], place.lane, is_constant ? 0 : 2 * place.item + half, 16));
    uint64_t word = Number(static_cast<float>(start + sum)).word;
    uint64_t old = element(wave, operands[0], place.lane, place.item, 32);
    uint64_t merged = half ? (old & 0xffffu) | word << 16 : (old & 0xffff0000u) | word;
    set_element(wave, operands[0], place.lane, place.item, 32, merged);
  });
}

// A bit of neg_lo says that a source is signed.
template <int kBits>
void to_integer(Wave& wave, const Instruction& instruction) {
  const auto& operands = instruction.operands;
  uint32_t are_signed = instruction.modifiers.neg_lo;
  auto value = [&](int source, int at, int k) {
    auto word = static_cast<uint32_t>(element(wave, operands[source], at, k, kBits));
    return are_signed >> (source - 1) & 1 ? int64_t{sign_extended(word, kBits)} : int64_t{word};
  };
  std::vector<std::pair<ResultPlace, uint32_t>> results;
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      ResultPlace place(wave, row, column);
      int64_t sum = static_cast<int32_t>(element(wave, operands[3], place.lane, place.item, 32));
      for (int k = 0; k < kSide; ++k) sum += value(1, row, k) * value(2, column, k);
      if (instruction.modifiers.clamp) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
      results.emplace_back(place, static_cast<uint32_t>(sum));
    }
  for (const auto& [place, word] : results) set_element(wave, operands[0], place.lane, place.item, 32, word);
}

constexpr std::array<Type, kMostOperands> kWide = {Type::kF32, Type::kB32, Type::kB32, Type::kF32};
constexpr std::array<Type, kMostOperands> kNarrow = {Type::kNone, Type::kB32, Type::kB32, Type::kPackedF16};

}  // namespace

Table wave_matrix_products() {
  return {
      {"v_wmma_f32_16x16x16_f16", {to_float<Float16>, kWide}},
      {"v_wmma_f32_16x16x16_bf16", {to_float<BFloat16>, kWide}},
      {"v_wmma_f16_16x16x16_f16", {to_narrow<Float16, Half>, kNarrow}},
      {"v_wmma_bf16_16x16x16_bf16", {to_narrow<BFloat16, BFloat>, kNarrow}},
      {"v_wmma_i32_16x16x16_iu8", {to_integer<8>, {Type::kB32, Type::kB32, Type::kB32, Type::kB32}}},
      {"v_wmma_i32_16x16x16_iu4", {to_integer<4>, {Type::kB32, Type::kB32, Type::kB32, Type::kB32}}},
  };
}

}  // namespace rocm_perf::softgpu
