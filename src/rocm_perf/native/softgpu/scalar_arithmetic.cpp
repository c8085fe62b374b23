#include "softgpu/registry.h"
#include "softgpu/scalar.h"

namespace rocm_perf::softgpu {
namespace {

Flagged<uint32_t> add_unsigned(uint32_t a, uint32_t b, bool carry) {
  uint64_t sum = uint64_t{a} + b + carry;
  return {static_cast<uint32_t>(sum), sum >> 32 != 0};
}

Flagged<uint32_t> subtract_unsigned(uint32_t a, uint32_t b, bool borrow) {
  return {a - b - borrow, uint64_t{a} < uint64_t{b} + borrow};
}

Flagged<uint32_t> signed_result(int64_t value) {
  return {static_cast<uint32_t>(value), value != static_cast<int32_t>(value)};
}

// Instructions with a constant of 16 bits inside of the encoding.
int32_t short_constant(const Instruction& instruction) { return static_cast<int16_t>(instruction.word & 0xffffu); }

void move_short(Wave& wave, const Instruction& instruction) {
  put_scalar(wave, instruction.operands[0], short_constant(instruction));
}

void move_short_conditionally(Wave& wave, const Instruction& instruction) {
  if (wave.scc) move_short(wave, instruction);
}

void add_short(Wave& wave, const Instruction& instruction) {
  const Operand& target = instruction.operands[0];
  auto sum = signed_result(int64_t{scalar_source<int32_t>(wave, target)} + short_constant(instruction));
  put_scalar(wave, target, sum.value);
  wave.scc = sum.scc;
}

void multiply_short(Wave& wave, const Instruction& instruction) {
  const Operand& target = instruction.operands[0];
  put_scalar(wave, target, scalar_source<uint32_t>(wave, target) * static_cast<uint32_t>(short_constant(instruction)));
}

template <typename F>
void compare_short_signed(Wave& wave, const Instruction& instruction) {
  wave.scc = F{}(scalar_source<int32_t>(wave, instruction.operands[0]), short_constant(instruction));
}

template <typename F>
void compare_short_unsigned(Wave& wave, const Instruction& instruction) {
  wave.scc = F{}(scalar_source<uint32_t>(wave, instruction.operands[0]), instruction.word & 0xffffu);
}

template <typename T>
void add_tests(Table& table, const std::string& type) {
  table.insert(table.end(), {{"s_cmp_eq_" + type, scalar_test([](T a, T b) { return a == b; })},
                             {"s_cmp_lg_" + type, scalar_test([](T a, T b) { return a != b; })},
                             {"s_cmp_gt_" + type, scalar_test([](T a, T b) { return a > b; })},
                             {"s_cmp_ge_" + type, scalar_test([](T a, T b) { return a >= b; })},
                             {"s_cmp_lt_" + type, scalar_test([](T a, T b) { return a < b; })},
                             {"s_cmp_le_" + type, scalar_test([](T a, T b) { return a <= b; })}});
}

void add_float_tests(Table& table) {
  add_tests<float>(table, "f32");
  table.insert(table.end(), {{"s_cmp_neq_f32", scalar_test([](float a, float b) { return !(a == b); })},
                             {"s_cmp_nlg_f32", scalar_test([](float a, float b) { return !(a < b || a > b); })},
                             {"s_cmp_ngt_f32", scalar_test([](float a, float b) { return !(a > b); })},
                             {"s_cmp_nge_f32", scalar_test([](float a, float b) { return !(a >= b); })},
                             {"s_cmp_nlt_f32", scalar_test([](float a, float b) { return !(a < b); })},
                             {"s_cmp_nle_f32", scalar_test([](float a, float b) { return !(a <= b); })},
                             {"s_cmp_o_f32", scalar_test([](float a, float b) { return a == a && b == b; })},
                             {"s_cmp_u_f32", scalar_test([](float a, float b) { return a != a || b != b; })}});
}

void add_short_tests(Table& table) {
  auto add = [&](const std::string& name, auto test) {
    table.emplace_back("s_cmpk_" + name + "_i32", Entry{compare_short_signed<decltype(test)>});
    table.emplace_back("s_cmpk_" + name + "_u32", Entry{compare_short_unsigned<decltype(test)>});
  };
  add("eq", [](auto a, auto b) { return a == b; });
  add("lg", [](auto a, auto b) { return a != b; });
  add("gt", [](auto a, auto b) { return a > b; });
  add("ge", [](auto a, auto b) { return a >= b; });
  add("lt", [](auto a, auto b) { return a < b; });
  add("le", [](auto a, auto b) { return a <= b; });
}

template <int shift>
Flagged<uint32_t> add_shifted(uint32_t a, uint32_t b) {
  uint64_t sum = (uint64_t{a} << shift) + b;
  return {static_cast<uint32_t>(sum), sum >> 32 != 0};
}

int32_t to_int(float value) {
  if (value != value) return 0;
  return value >= 0x1p31f ? INT32_MAX : value <= -0x1p31f ? INT32_MIN : static_cast<int32_t>(value);
}

uint32_t to_unsigned(float value) {
  if (!(value > 0)) return 0;
  return value >= 0x1p32f ? UINT32_MAX : static_cast<uint32_t>(value);
}

float fused(float a, float b, float c) { return std::fma(a, b, c); }

// SALU floats: gfx11.5 and later.
void add_floats(Table& table) {
  table.insert(
      table.end(),
      {{"s_add_f32", scalar([](float a, float b) { return a + b; })},
       {"s_sub_f32", scalar([](float a, float b) { return a - b; })},
       {"s_mul_f32", scalar([](float a, float b) { return a * b; })},
       {"s_min_f32", scalar([](float a, float b) { return std::fmin(a, b); })},
       {"s_max_f32", scalar([](float a, float b) { return std::fmax(a, b); })},
       {"s_fmaak_f32", scalar([](float a, float b, float c) { return fused(a, b, c); })},
       {"s_fmamk_f32", scalar([](float a, float b, float c) { return fused(a, b, c); })},
       {"s_fmac_f32",
        {[](Wave& wave, const Instruction& instruction) {
           const auto& operands = instruction.operands;
           put_scalar(wave, operands[0],
                      fused(scalar_source<float>(wave, operands[1]), scalar_source<float>(wave, operands[2]),
                            scalar_source<float>(wave, operands[0])));
         },
         {Type::kF32, Type::kF32, Type::kF32}}},
       {"s_ceil_f32", scalar([](float a) { return std::ceil(a); })},
       {"s_floor_f32", scalar([](float a) { return std::floor(a); })},
       {"s_trunc_f32", scalar([](float a) { return std::trunc(a); })},
       {"s_rndne_f32", scalar([](float a) { return std::nearbyint(a); })},
       {"s_cvt_f32_i32", scalar([](int32_t a) { return static_cast<float>(a); })},
       {"s_cvt_f32_u32", scalar([](uint32_t a) { return static_cast<float>(a); })},
       {"s_cvt_i32_f32", scalar([](float a) { return to_int(a); })},
       {"s_cvt_u32_f32", scalar([](float a) { return to_unsigned(a); })},
       {"s_cvt_f16_f32", scalar([](float a) { return uint32_t{half_of_float(a)}; })},
       {"s_cvt_f32_f16", scalar([](uint32_t a) { return float_of_half(static_cast<uint16_t>(a)); })},
       {"s_cvt_hi_f32_f16", scalar([](uint32_t a) { return float_of_half(static_cast<uint16_t>(a >> 16)); })}});
}

}  // namespace

Table scalar_arithmetic() {
  Table table = {
      {"s_add_u32", scalar_flagged([](uint32_t a, uint32_t b) { return add_unsigned(a, b, false); })},
      {"s_addc_u32", scalar_flagged([](uint32_t a, uint32_t b, Scc c) { return add_unsigned(a, b, c.is_set); })},
      {"s_sub_u32", scalar_flagged([](uint32_t a, uint32_t b) { return subtract_unsigned(a, b, false); })},
      {"s_subb_u32", scalar_flagged([](uint32_t a, uint32_t b, Scc c) { return subtract_unsigned(a, b, c.is_set); })},
      {"s_add_i32", scalar_flagged([](int32_t a, int32_t b) { return signed_result(int64_t{a} + b); })},
      {"s_sub_i32", scalar_flagged([](int32_t a, int32_t b) { return signed_result(int64_t{a} - b); })},
      {"s_mul_i32", scalar([](uint32_t a, uint32_t b) { return a * b; })},
      {"s_mul_hi_u32", scalar([](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); })},
      {"s_mul_hi_i32", scalar([](int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{a} * b >> 32); })},
      {"s_min_i32", scalar_flagged([](int32_t a, int32_t b) { return Flagged<int32_t>{a < b ? a : b, a < b}; })},
      {"s_max_i32", scalar_flagged([](int32_t a, int32_t b) { return Flagged<int32_t>{a > b ? a : b, a > b}; })},
      {"s_min_u32", scalar_flagged([](uint32_t a, uint32_t b) { return Flagged<uint32_t>{a < b ? a : b, a < b}; })},
      {"s_max_u32", scalar_flagged([](uint32_t a, uint32_t b) { return Flagged<uint32_t>{a > b ? a : b, a > b}; })},
      {"s_absdiff_i32", scalar_nonzero([](int32_t a, int32_t b) {
         auto difference = static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
         return difference < 0 ? 0u - static_cast<uint32_t>(difference) : static_cast<uint32_t>(difference);
       })},
      {"s_abs_i32", scalar_nonzero([](uint32_t a) { return static_cast<int32_t>(a) < 0 ? 0u - a : a; })},
      {"s_lshl1_add_u32", scalar_flagged([](uint32_t a, uint32_t b) { return add_shifted<1>(a, b); })},
      {"s_lshl2_add_u32", scalar_flagged([](uint32_t a, uint32_t b) { return add_shifted<2>(a, b); })},
      {"s_lshl3_add_u32", scalar_flagged([](uint32_t a, uint32_t b) { return add_shifted<3>(a, b); })},
      {"s_lshl4_add_u32", scalar_flagged([](uint32_t a, uint32_t b) { return add_shifted<4>(a, b); })},
      {"s_sext_i32_i8", scalar([](uint32_t a) { return sign_extended(a, 8); })},
      {"s_sext_i32_i16", scalar([](uint32_t a) { return sign_extended(a, 16); })},
      {"s_movk_i32", {move_short}},
      {"s_cmovk_i32", {move_short_conditionally}},
      {"s_addk_i32", {add_short}},
      {"s_mulk_i32", {multiply_short}},
  };
  add_tests<int32_t>(table, "i32");
  add_tests<uint32_t>(table, "u32");
  add_tests<uint64_t>(table, "u64");
  add_float_tests(table);
  add_short_tests(table);
  add_floats(table);
  return table;
}

}  // namespace rocm_perf::softgpu
