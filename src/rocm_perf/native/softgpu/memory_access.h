// One lane's part of a load or a store.
#pragma once

#include "softgpu/wave.h"

namespace rocm_perf::softgpu {

inline uint32_t narrow_value(const Access& access, const unsigned char* from) {
  uint32_t value = 0;
  std::memcpy(&value, from, access.bytes);
  return access.is_signed ? static_cast<uint32_t>(sign_extended(value, 8u * access.bytes)) : value;
}

inline uint32_t with_half(Access::Half half, uint32_t old, uint32_t value) {
  if (half == Access::kLow) return (old & 0xffff0000u) | (value & 0xffffu);
  if (half == Access::kHigh) return (old & 0xffffu) | value << 16;
  return value;
}

// `from` is nullptr where nothing lies: that reads as 0.
inline void load_lane(const Access& access, const unsigned char* from, Register* target, int lane) {
  if (access.bytes < 4) {
    uint32_t value = from ? narrow_value(access, from) : 0;
    target->lane[lane] = with_half(access.half, target->lane[lane], value);
    return;
  }
  for (int word = 0; word < access.words; ++word) {
    uint32_t value = 0;
    if (from) std::memcpy(&value, from + 4 * word, 4);
    target[word].lane[lane] = value;
  }
}

inline void store_lane(const Access& access, unsigned char* to, const Register* source, int lane) {
  if (!to) return;
  if (access.bytes < 4) {
    uint32_t value = access.half == Access::kHigh ? source->lane[lane] >> 16 : source->lane[lane];
    std::memcpy(to, &value, access.bytes);
    return;
  }
  for (int word = 0; word < access.words; ++word) std::memcpy(to + 4 * word, &source[word].lane[lane], 4);
}

}  // namespace rocm_perf::softgpu
