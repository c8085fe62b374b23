#include "softgpu/arithmetic.h"
#include "softgpu/float8.h"
#include "softgpu/lanes.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

// Towards 0, as v_cvt_pkrtz_f16_f32 rounds.
uint16_t half_towards_zero(float value) {
  uint32_t word = bits<uint32_t>(value), magnitude = word & 0x7fffffffu, sign = word >> 16 & 0x8000u;
  if (magnitude >= 0x7f800000u) return half_of_float(value);
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7bffu);  // the largest
  uint16_t nearest = half_of_float(bits<float>(magnitude));
  if (float_of_half(nearest) > bits<float>(magnitude)) --nearest;
  return static_cast<uint16_t>(sign | nearest);
}

uint32_t pair(uint32_t low, uint32_t high) { return (low & 0xffffu) | high << 16; }

int32_t normalized(float value, float largest) {
  float clamped = value != value ? 0 : value < -1 ? -1 : value > 1 ? 1 : value;
  return static_cast<int32_t>(std::nearbyint(clamped * largest));
}

uint32_t normalized_unsigned(float value, float largest) {
  float clamped = value > 0 ? (value > 1 ? 1 : value) : 0;
  return static_cast<uint32_t>(std::nearbyint(clamped * largest));
}

template <typename To, typename From>
uint32_t saturated(From value) {
  using Limits = std::numeric_limits<To>;
  From low = static_cast<From>(Limits::min()), high = static_cast<From>(Limits::max());
  if constexpr (std::is_unsigned_v<From>) low = 0;
  return static_cast<uint32_t>(value < low ? low : value > high ? high : value);
}

int32_t byte_of_float(float value) { return truncated<int32_t>(std::nearbyint(value)); }

uint32_t with_byte(uint32_t old, uint32_t at, float value) {
  int32_t byte = byte_of_float(value);
  uint32_t clamped = static_cast<uint32_t>(byte < 0 ? 0 : byte > 255 ? 255 : byte);
  unsigned shift = 8 * (at & 3);
  return (old & ~(0xffu << shift)) | clamped << shift;
}

template <typename Format, int byte>
float float_of_byte(uint32_t word) {
  return float_of_float8<Format>(static_cast<uint8_t>(word >> (8 * byte)));
}

// One value of fp8 or bf8: SDWA or op_sel says which byte.
template <typename Format>
void from_float8(Wave& wave, const Instruction& instruction) {
  Source<uint32_t> source(wave, instruction, 1, 0);
  uint32_t selected = instruction.modifiers.op_sel;
  int byte = instruction.modifiers.is_sdwa ? 0 : static_cast<int>((selected & 1) << 1 | (selected >> 1 & 1));
  Result<float> result;
  each_lane(wave, [&](int lane) {
    result.set(lane, float_of_float8<Format>(static_cast<uint8_t>(source[lane] >> (8 * byte))));
  });
  result.put_into(wave, instruction, 0);
}

// Two values, of the lower or, by SDWA or op_sel, the upper half.
template <typename Format>
void from_float8_pair(Wave& wave, const Instruction& instruction) {
  Source<uint32_t> source(wave, instruction, 1, 0);
  int shift = !instruction.modifiers.is_sdwa && (instruction.modifiers.op_sel & 1) ? 16 : 0;
  Result<uint64_t> result;
  each_lane(wave, [&](int lane) {
    uint32_t word = source[lane] >> shift;
    uint64_t low = bits<uint32_t>(float_of_float8<Format>(static_cast<uint8_t>(word)));
    uint64_t high = bits<uint32_t>(float_of_float8<Format>(static_cast<uint8_t>(word >> 8)));
    result.set(lane, low | high << 32);
  });
  result.put_into(wave, instruction, 0);
}

// Two values into one half of the result; the other half stays as it is.
template <typename Format>
void to_float8_pair(Wave& wave, const Instruction& instruction) {
  Source<float> a(wave, instruction, 1, 0), b(wave, instruction, 2, 1);
  const Register& old = wave.vectors[instruction.operands[0].index];
  bool is_high = instruction.modifiers.op_sel >> 2 & 1;
  Result<uint32_t> result;
  each_lane(wave, [&](int lane) {
    uint32_t both = float8_of_float<Format>(a[lane]) | uint32_t{float8_of_float<Format>(b[lane])} << 8;
    result.set(lane, is_high ? pair(old.lane[lane], both) : (old.lane[lane] & 0xffff0000u) | both);
  });
  result.put_into(wave, instruction, 0);
}

Table float8() {
  return {
      {"v_cvt_f32_fp8", {from_float8<Fp8>, {Type::kF32, Type::kB32}}},
      {"v_cvt_f32_bf8", {from_float8<Bf8>, {Type::kF32, Type::kB32}}},
      {"v_cvt_pk_f32_fp8", {from_float8_pair<Fp8>, {Type::kB64, Type::kB32}}},
      {"v_cvt_pk_f32_bf8", {from_float8_pair<Bf8>, {Type::kB64, Type::kB32}}},
      {"v_cvt_pk_fp8_f32", {to_float8_pair<Fp8>, {Type::kB32, Type::kF32, Type::kF32}}},
      {"v_cvt_pk_bf8_f32", {to_float8_pair<Bf8>, {Type::kB32, Type::kF32, Type::kF32}}},
  };
}

}  // namespace

Table vector_conversions() {
  Table table = {
      {"v_cvt_f32_i32", vector([](int32_t a) { return static_cast<float>(a); })},
      {"v_cvt_f32_u32", vector([](uint32_t a) { return static_cast<float>(a); })},
      {"v_cvt_i32_f32", vector([](float a) { return truncated<int32_t>(a); })},
      {"v_cvt_u32_f32", vector([](float a) { return truncated<uint32_t>(a); })},
      {"v_cvt_f64_i32", vector([](int32_t a) { return static_cast<double>(a); })},
      {"v_cvt_f64_u32", vector([](uint32_t a) { return static_cast<double>(a); })},
      {"v_cvt_i32_f64", vector([](double a) { return truncated<int32_t>(a); })},
      {"v_cvt_u32_f64", vector([](double a) { return truncated<uint32_t>(a); })},
      {"v_cvt_f64_f32", vector([](float a) { return static_cast<double>(a); })},
      {"v_cvt_f32_f64", vector([](double a) { return static_cast<float>(a); })},
      {"v_cvt_f16_f32", vector([](float a) { return Half(a); })},
      {"v_cvt_f32_f16", vector([](Half a) { return float{a}; })},
      {"v_cvt_f16_u16", vector([](uint16_t a) { return Half(static_cast<float>(a)); })},
      {"v_cvt_f16_i16", vector([](int16_t a) { return Half(static_cast<float>(a)); })},
      {"v_cvt_u16_f16", vector([](Half a) { return truncated<uint16_t>(float{a}); })},
      {"v_cvt_i16_f16", vector([](Half a) { return truncated<int16_t>(float{a}); })},
      {"v_cvt_f32_ubyte0", vector([](uint32_t a) { return static_cast<float>(a & 0xff); })},
      {"v_cvt_f32_ubyte1", vector([](uint32_t a) { return static_cast<float>(a >> 8 & 0xff); })},
      {"v_cvt_f32_ubyte2", vector([](uint32_t a) { return static_cast<float>(a >> 16 & 0xff); })},
      {"v_cvt_f32_ubyte3", vector([](uint32_t a) { return static_cast<float>(a >> 24); })},
      {"v_cvt_rpi_i32_f32", vector([](float a) { return truncated<int32_t>(std::floor(a + 0.5f)); })},
      {"v_cvt_flr_i32_f32", vector([](float a) { return truncated<int32_t>(std::floor(a)); })},
      {"v_cvt_i32_i16", vector([](int16_t a) { return int32_t{a}; })},
      {"v_cvt_u32_u16", vector([](uint16_t a) { return uint32_t{a}; })},
      {"v_cvt_pkrtz_f16_f32",
       vector([](float a, float b) { return pair(half_towards_zero(a), half_towards_zero(b)); })},
      {"v_cvt_pk_u16_u32",
       vector([](uint32_t a, uint32_t b) { return pair(saturated<uint16_t>(a), saturated<uint16_t>(b)); })},
      {"v_cvt_pk_i16_i32",
       vector([](int32_t a, int32_t b) { return pair(saturated<int16_t>(a), saturated<int16_t>(b)); })},
      {"v_cvt_pk_u16_f32",
       vector([](float a, float b) { return pair(truncated<uint16_t>(a), truncated<uint16_t>(b)); })},
      {"v_cvt_pk_i16_f32", vector([](float a, float b) {
         return pair(static_cast<uint16_t>(truncated<int16_t>(a)), static_cast<uint16_t>(truncated<int16_t>(b)));
       })},
      {"v_cvt_pknorm_i16_f32", vector([](float a, float b) {
         return pair(static_cast<uint32_t>(normalized(a, 32767)), static_cast<uint32_t>(normalized(b, 32767)));
       })},
      {"v_cvt_pknorm_u16_f32",
       vector([](float a, float b) { return pair(normalized_unsigned(a, 65535), normalized_unsigned(b, 65535)); })},
      {"v_cvt_pk_bf16_f32", vector([](float a, float b) { return pair(bfloat_of_float(a), bfloat_of_float(b)); })},
      {"v_cvt_pk_u8_f32", vector([](float a, uint32_t b, uint32_t c) { return with_byte(c, b, a); })},
  };
  Table more = float8();
  table.insert(table.end(), more.begin(), more.end());
  return table;
}

}  // namespace rocm_perf::softgpu
