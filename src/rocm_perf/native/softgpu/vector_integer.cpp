#include <algorithm>
#include <cstdlib>

#include "softgpu/arithmetic.h"
#include "softgpu/lanes.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

int32_t signed_24(uint32_t value) { return sign_extended(value, 24); }
uint32_t unsigned_24(uint32_t value) { return value & 0xffffffu; }

uint32_t high_product(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }

template <typename T>
int64_t clamped(int64_t value) {
  using Limits = std::numeric_limits<T>;
  return std::clamp<int64_t>(value, Limits::min(), Limits::max());
}

// Additions that wrap, or with `clamp` stop at the ends of their type.
template <typename T, auto F>
void saturating(Wave& wave, const Instruction& instruction) {
  Source<T> a(wave, instruction, 1, 0), b(wave, instruction, 2, 1);
  Result<T> result;
  bool is_clamped = instruction.modifiers.clamp;
  each_lane(wave, [&](int lane) {
    int64_t exact = F(int64_t{a[lane]}, int64_t{b[lane]});
    result.set(lane, static_cast<T>(is_clamped ? clamped<T>(exact) : exact));
  });
  result.put_into(wave, instruction, 0);
}

template <typename T>
void add_sums(Table& table, const std::string& type) {
  auto entry = [](Handler run) { return Entry{run, {type_of<T>(), type_of<T>(), type_of<T>()}}; };
  table.emplace_back("v_add_" + type, entry(saturating<T, [](int64_t a, int64_t b) { return a + b; }>));
  table.emplace_back("v_sub_" + type, entry(saturating<T, [](int64_t a, int64_t b) { return a - b; }>));
  table.emplace_back("v_subrev_" + type, entry(saturating<T, [](int64_t a, int64_t b) { return b - a; }>));
}

template <typename T>
void add_order(Table& table, const std::string& type) {
  table.insert(table.end(), {{"v_min_" + type, vector([](T a, T b) { return a < b ? a : b; })},
                             {"v_max_" + type, vector([](T a, T b) { return a > b ? a : b; })},
                             {"v_min3_" + type, vector([](T a, T b, T c) { return std::min(std::min(a, b), c); })},
                             {"v_max3_" + type, vector([](T a, T b, T c) { return std::max(std::max(a, b), c); })},
                             {"v_med3_" + type, vector([](T a, T b, T c) { return middle(a, b, c); })},
                             {"v_maxmin_" + type, vector([](T a, T b, T c) { return std::min(std::max(a, b), c); })},
                             {"v_minmax_" + type, vector([](T a, T b, T c) { return std::max(std::min(a, b), c); })}});
}

uint32_t absolute_difference(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

uint32_t differences_of_bytes(uint32_t a, uint32_t b, uint32_t sum) {
  for (int shift = 0; shift < 32; shift += 8) sum += absolute_difference(a >> shift & 0xff, b >> shift & 0xff);
  return sum;
}

template <typename T>
int32_t dot_of_bytes(uint32_t a, uint32_t b, int32_t sum) {
  for (int shift = 0; shift < 32; shift += 8)
    sum += static_cast<int32_t>(static_cast<T>(a >> shift)) * static_cast<int32_t>(static_cast<T>(b >> shift));
  return sum;
}

}  // namespace

Table vector_integer() {
  Table table = {
      {"v_add3_u32", vector([](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; })},
      {"v_lshl_add_u32", vector([](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) + c; })},
      {"v_add_lshl_u32", vector([](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c & 31); })},
      {"v_lshl_add_u64", vector([](uint64_t a, uint32_t b, uint64_t c) { return (a << (b & 7)) + c; })},
      {"v_mul_lo_u32", vector([](uint32_t a, uint32_t b) { return a * b; })},
      {"v_mul_lo_i32", vector([](uint32_t a, uint32_t b) { return a * b; })},
      {"v_mul_hi_u32", vector([](uint32_t a, uint32_t b) { return high_product(a, b); })},
      {"v_mul_hi_i32", vector([](int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{a} * b >> 32); })},
      {"v_mul_lo_u16", vector([](uint16_t a, uint16_t b) { return static_cast<uint16_t>(uint32_t{a} * b); })},
      {"v_mad_u16",
       vector([](uint16_t a, uint16_t b, uint16_t c) { return static_cast<uint16_t>(uint32_t{a} * b + c); })},
      {"v_mad_i16",
       vector([](uint16_t a, uint16_t b, uint16_t c) { return static_cast<uint16_t>(uint32_t{a} * b + c); })},
      {"v_mad_legacy_u16",
       vector([](uint16_t a, uint16_t b, uint16_t c) { return static_cast<uint16_t>(uint32_t{a} * b + c); })},
      {"v_mad_u32_u16", vector([](uint16_t a, uint16_t b, uint32_t c) { return uint32_t{a} * b + c; })},
      {"v_mad_i32_i16", vector([](int16_t a, int16_t b, uint32_t c) { return static_cast<uint32_t>(a * b) + c; })},
      {"v_mul_u32_u24", vector([](uint32_t a, uint32_t b) { return unsigned_24(a) * unsigned_24(b); })},
      {"v_mul_hi_u32_u24", vector([](uint32_t a, uint32_t b) { return high_product(unsigned_24(a), unsigned_24(b)); })},
      {"v_mul_i32_i24", vector([](uint32_t a, uint32_t b) {
         return static_cast<uint32_t>(signed_24(a)) * static_cast<uint32_t>(signed_24(b));
       })},
      {"v_mul_hi_i32_i24",
       vector([](uint32_t a, uint32_t b) { return static_cast<int32_t>(int64_t{signed_24(a)} * signed_24(b) >> 32); })},
      {"v_mad_u32_u24", vector([](uint32_t a, uint32_t b, uint32_t c) { return unsigned_24(a) * unsigned_24(b) + c; })},
      {"v_mad_i32_i24", vector([](uint32_t a, uint32_t b, uint32_t c) {
         return static_cast<uint32_t>(signed_24(a)) * static_cast<uint32_t>(signed_24(b)) + c;
       })},
      {"v_sad_u32", vector([](uint32_t a, uint32_t b, uint32_t c) { return absolute_difference(a, b) + c; })},
      {"v_sad_u8", vector([](uint32_t a, uint32_t b, uint32_t c) { return differences_of_bytes(a, b, c); })},
      {"v_sad_u16", vector([](uint32_t a, uint32_t b, uint32_t c) {
         return absolute_difference(a & 0xffff, b & 0xffff) + absolute_difference(a >> 16, b >> 16) + c;
       })},
      {"v_dot4_i32_i8", vector([](uint32_t a, uint32_t b, int32_t c) { return dot_of_bytes<int8_t>(a, b, c); })},
      {"v_dot4c_i32_i8", vector([](uint32_t a, uint32_t b, int32_t c) { return dot_of_bytes<int8_t>(a, b, c); })},
      {"v_dot4_u32_u8", vector([](uint32_t a, uint32_t b, int32_t c) { return dot_of_bytes<uint8_t>(a, b, c); })},
  };
  add_sums<uint32_t>(table, "u32");
  add_sums<int32_t>(table, "i32");
  add_sums<uint16_t>(table, "u16");
  add_sums<int16_t>(table, "i16");
  add_order<uint32_t>(table, "u32");
  add_order<int32_t>(table, "i32");
  add_order<uint16_t>(table, "u16");
  add_order<int16_t>(table, "i16");
  return table;
}

}  // namespace rocm_perf::softgpu
