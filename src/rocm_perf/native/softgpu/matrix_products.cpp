// MFMA: products of matrices whose elements are spread over all lanes of a wave (AMD, CDNA 3 ISA: matrix arithmetic).
#include <deque>

#include "softgpu/matrix.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

// Where an element of a source lies: rows (or columns) side by side in lanes, the depth first within a lane.
struct SourcePlace {
  SourcePlace(const MatrixShape& shape, int side) : shape(shape), side(side) {
    in_lane = side * shape.depth * shape.blocks / kLanes;
  }
  int lane(int block, int at, int k) const { return at + side * (block + shape.blocks * (k / in_lane)); }
  int item(int k) const { return k % in_lane; }

  const MatrixShape& shape;
  int side, in_lane;
};

struct Place {
  int lane, item;
};

// Where an element of the result lies: groups of four rows in the registers of a lane.
Place result_place(const MatrixShape& shape, int block, int row, int column, bool is_double) {
  if (is_double && shape.blocks > 1) return {column + shape.columns * (block + shape.blocks * row), 0};
  if (is_double) return {column + shape.columns * (row % 4), row / 4};
  int group = row / 4 + shape.rows / 4 * block, groups = kLanes / shape.columns;
  return {column + shape.columns * (group % groups), row % 4 + 4 * (group / groups)};
}

// CBSZ and ABID let several blocks share one block of the first source.
int shared_block(const Modifiers& modifiers, int block) {
  int together = 1 << modifiers.cbsz;
  return block / together * together + modifiers.abid % together;
}

// BLGP lets lanes take the second source from other lanes.
int permuted_lane(int pattern, int lane) {
  switch (pattern) {
    case 1:
      return lane % 32;
    case 2:
      return lane % 32 + 32;
    case 3:
      return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7:
      return lane % 16 + 16 * (pattern - 4);
    default:
      return lane;
  }
}

// Sums in the order of the depth, fused where the numbers are as wide as the sum; narrower products are exact and are
// added in double precision, which is rounded once.
template <typename Value, typename Sum>
Sum accumulated(const Value* a, const Value* b, int depth, Sum start) {
  if constexpr (std::is_same_v<Value, double> && std::is_same_v<Sum, float>) {
    double sum = start;
    for (int k = 0; k < depth; ++k) sum += a[k] * b[k];
    return static_cast<float>(sum);
  } else if constexpr (std::is_floating_point_v<Value>) {
    for (int k = 0; k < depth; ++k) start = std::fma(a[k], b[k], start);
    return start;
  } else {
    uint32_t sum = static_cast<uint32_t>(start);
    for (int k = 0; k < depth; ++k) sum += static_cast<uint32_t>(a[k] * b[k]);
    return static_cast<Sum>(sum);
  }
}

template <typename Sum>
Sum sum_of(uint64_t word) {
  if constexpr (sizeof(Sum) == 8)
    return bits<Sum>(word);
  else
    return bits<Sum>(static_cast<uint32_t>(word));
}

template <typename Sum>
uint64_t word_of(Sum sum) {
  if constexpr (sizeof(Sum) == 8)
    return bits<uint64_t>(sum);
  else
    return bits<uint32_t>(sum);
}

template <typename A, typename B, typename Sum>
void multiply(Wave& wave, const Instruction& instruction) {
  const MatrixShape& shape = *instruction.shape;
  const Modifiers& modifiers = instruction.modifiers;
  const auto& operands = instruction.operands;
  constexpr bool kIsDouble = sizeof(Sum) == 8;
  constexpr int kSumBits = 8 * sizeof(Sum);
  using Value = typename A::Value;
  SourcePlace first(shape, shape.rows), second(shape, shape.columns);
  double sign_a = kIsDouble && (modifiers.neg_lo & 1) ? -1 : 1, sign_b = kIsDouble && (modifiers.neg_lo & 2) ? -1 : 1;
  struct Written {
    Place place;
    uint64_t word;
  };
  std::vector<Written> results;
  std::vector<Value> a(static_cast<std::size_t>(shape.rows * shape.depth));
  std::vector<Value> b(static_cast<std::size_t>(shape.columns * shape.depth));
  for (int block = 0; block < shape.blocks; ++block) {
    int block_a = shared_block(modifiers, block);
    for (int at = 0; at < shape.rows; ++at)
      for (int k = 0; k < shape.depth; ++k)
        a[static_cast<std::size_t>(at * shape.depth + k)] = static_cast<Value>(
            sign_a * A::of(element(wave, operands[1], first.lane(block_a, at, k), first.item(k), A::kBits)));
    for (int at = 0; at < shape.columns; ++at)
      for (int k = 0; k < shape.depth; ++k) {
        int lane = second.lane(block, at, k);
        if (!kIsDouble) lane = permuted_lane(modifiers.blgp, lane);
        b[static_cast<std::size_t>(at * shape.depth + k)] =
            static_cast<Value>(sign_b * B::of(element(wave, operands[2], lane, second.item(k), B::kBits)));
      }
    for (int row = 0; row < shape.rows; ++row)
      for (int column = 0; column < shape.columns; ++column) {
        Place place = result_place(shape, block, row, column, kIsDouble);
        Sum start = sum_of<Sum>(element(wave, operands[3], place.lane, place.item, kSumBits));
        Sum sum = accumulated(&a[static_cast<std::size_t>(row * shape.depth)],
                              &b[static_cast<std::size_t>(column * shape.depth)], shape.depth, start);
        results.push_back({place, word_of(sum)});
      }
  }
  for (const Written& result : results)
    set_element(wave, operands[0], result.place.lane, result.place.item, kSumBits, result.word);
}

// gfx90a's names do not say the number of blocks: v_mfma_f32_32x32x4f16 is v_mfma_f32_32x32x4_2b_f16 on gfx942.
std::string old_name(const std::string& sum, const MatrixShape& shape, const std::string& source) {
  return "v_mfma_" + sum + "_" + std::to_string(shape.rows) + "x" + std::to_string(shape.columns) + "x" +
         std::to_string(shape.depth) + source;
}

std::string new_name(const std::string& sum, const MatrixShape& shape, const std::string& source) {
  std::string blocks = shape.blocks > 1 ? "_" + std::to_string(shape.blocks) + "b" : "";
  return old_name(sum, shape, blocks + "_" + source);
}

class Shapes {
 public:
  explicit Shapes(Table& table) : table_(table) {}

  template <typename A, typename B, typename Sum>
  void add(const std::string& sum, const std::string& old_source, const std::string& new_source,
           std::initializer_list<MatrixShape> shapes) {
    constexpr Type kSource = sizeof(Sum) == 8 ? Type::kF64 : Type::kB32;
    constexpr Type kSum = std::is_same_v<Sum, float> ? Type::kF32 : sizeof(Sum) == 8 ? Type::kF64 : Type::kB32;
    for (const MatrixShape& shape : shapes) {
      kept().push_back(shape);
      Entry entry{multiply<A, B, Sum>, {kSum, kSource, kSource, kSum}, {}, nullptr, &kept().back()};
      if (!old_source.empty()) table_.emplace_back(old_name(sum, shape, old_source), entry);
      if (!new_source.empty()) table_.emplace_back(new_name(sum, shape, new_source), entry);
    }
  }

 private:
  static std::deque<MatrixShape>& kept() {  // entries point to them
    static std::deque<MatrixShape> shapes;
    return shapes;
  }
  Table& table_;
};

}  // namespace

Table matrix_products() {
  Table table;
  Shapes shapes(table);
  shapes.add<Float32, Float32, float>("f32", "f32", "f32",
                                      {{32, 32, 1, 2}, {16, 16, 1, 4}, {4, 4, 1, 16}, {32, 32, 2, 1}, {16, 16, 4, 1}});
  shapes.add<Float16, Float16, float>("f32", "f16", "f16",
                                      {{32, 32, 4, 2}, {16, 16, 4, 4}, {4, 4, 4, 16}, {32, 32, 8, 1}, {16, 16, 16, 1}});
  shapes.add<BFloat16, BFloat16, float>(
      "f32", "bf16_1k", "bf16", {{32, 32, 4, 2}, {16, 16, 4, 4}, {4, 4, 4, 16}, {32, 32, 8, 1}, {16, 16, 16, 1}});
  shapes.add<BFloat16, BFloat16, float>(
      "f32", "bf16", "", {{32, 32, 2, 2}, {16, 16, 2, 4}, {4, 4, 2, 16}, {32, 32, 4, 1}, {16, 16, 8, 1}});
  shapes.add<Int8, Int8, int32_t>("i32", "i8", "i8",
                                  {{32, 32, 4, 2},
                                   {16, 16, 4, 4},
                                   {4, 4, 4, 16},
                                   {32, 32, 8, 1},
                                   {16, 16, 16, 1},
                                   {32, 32, 16, 1},
                                   {16, 16, 32, 1}});
  shapes.add<Float64, Float64, double>("f64", "f64", "f64", {{16, 16, 4, 1}, {4, 4, 4, 4}});
  shapes.add<XFloat32, XFloat32, float>("f32", "", "xf32", {{16, 16, 8, 1}, {32, 32, 4, 1}});
  shapes.add<Float8<Fp8>, Float8<Fp8>, float>("f32", "", "fp8_fp8", {{16, 16, 32, 1}, {32, 32, 16, 1}});
  shapes.add<Float8<Fp8>, Float8<Bf8>, float>("f32", "", "fp8_bf8", {{16, 16, 32, 1}, {32, 32, 16, 1}});
  shapes.add<Float8<Bf8>, Float8<Fp8>, float>("f32", "", "bf8_fp8", {{16, 16, 32, 1}, {32, 32, 16, 1}});
  shapes.add<Float8<Bf8>, Float8<Bf8>, float>("f32", "", "bf8_bf8", {{16, 16, 32, 1}, {32, 32, 16, 1}});
  return table;
}

}  // namespace rocm_perf::softgpu
