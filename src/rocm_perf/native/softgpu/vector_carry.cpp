#include "softgpu/lanes.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

struct Sum {
  uint32_t value;
  bool carry;
};

Sum added(uint32_t a, uint32_t b, bool carry) {
  uint64_t sum = uint64_t{a} + b + carry;
  return {static_cast<uint32_t>(sum), sum >> 32 != 0};
}

Sum subtracted(uint32_t a, uint32_t b, bool borrow) { return {a - b - borrow, uint64_t{a} < uint64_t{b} + borrow}; }

// Operands: result, carry out, two sources, carry in.
template <auto F>
void with_carry(Wave& wave, const Instruction& instruction) {
  Source<uint32_t> a(wave, instruction, 2, 0), b(wave, instruction, 3, 1);
  uint64_t carry = instruction.operand_count > 4 ? wave.lane_mask(instruction.operands[4].index) : 0;
  Result<uint32_t> result;
  uint8_t flags[kLanes];
  each_lane(wave, [&](int lane) {
    Sum sum = F(a[lane], b[lane], (carry >> lane & 1) != 0);
    result.set(lane, sum.value);
    flags[lane] = sum.carry;
  });
  result.put_into(wave, instruction, 0);
  wave.set_lane_mask(instruction.operands[1].index, packed(flags, wave.size) & wave.exec());
}

// A product of 32 bits each, added to 64: the carry of the addition is one more result.
template <typename T>
void multiply_add(Wave& wave, const Instruction& instruction) {
  Source<T> a(wave, instruction, 2, 0), b(wave, instruction, 3, 1);
  Source<uint64_t> c(wave, instruction, 4, 2);
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  Result<uint64_t> result;
  uint8_t flags[kLanes];
  each_lane(wave, [&](int lane) {
    uint64_t product = static_cast<uint64_t>(Wide{a[lane]} * Wide{b[lane]});
    uint64_t sum = product + c[lane];
    result.set(lane, sum);
    flags[lane] = sum < product;
  });
  result.put_into(wave, instruction, 0);
  wave.set_lane_mask(instruction.operands[1].index, packed(flags, wave.size) & wave.exec());
}

template <auto F>
Entry carrying() {
  return {with_carry<F>, {Type::kB32, Type::kB64, Type::kB32, Type::kB32, Type::kB64}};
}

template <typename T>
Entry multiplying() {
  return {multiply_add<T>, {Type::kB64, Type::kB64, Type::kB32, Type::kB32, Type::kB64}};
}

}  // namespace

Table vector_carry() {
  return {
      {"v_add_co_u32", carrying<[](uint32_t a, uint32_t b, bool) { return added(a, b, false); }>()},
      {"v_sub_co_u32", carrying<[](uint32_t a, uint32_t b, bool) { return subtracted(a, b, false); }>()},
      {"v_subrev_co_u32", carrying<[](uint32_t a, uint32_t b, bool) { return subtracted(b, a, false); }>()},
      {"v_addc_co_u32", carrying<[](uint32_t a, uint32_t b, bool c) { return added(a, b, c); }>()},
      {"v_subb_co_u32", carrying<[](uint32_t a, uint32_t b, bool c) { return subtracted(a, b, c); }>()},
      {"v_subbrev_co_u32", carrying<[](uint32_t a, uint32_t b, bool c) { return subtracted(b, a, c); }>()},
      {"v_mad_u64_u32", multiplying<uint32_t>()},
      {"v_mad_i64_i32", multiplying<int32_t>()},
  };
}

}  // namespace rocm_perf::softgpu
