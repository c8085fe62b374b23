// Shapes of matrix instructions, and the numbers that they multiply.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "softgpu/float8.h"
#include "softgpu/wave.h"

namespace rocm_perf::softgpu {

struct MatrixShape {
  int rows, columns, depth, blocks;
};

// An element of a lane's registers: values of `bits` bits, one after another.
inline uint64_t element(const Wave& wave, const Operand& operand, int lane, int item, int bits) {
  if (operand.kind != Operand::kVector) return bits == 64 ? operand.value : static_cast<uint32_t>(operand.value);
  int position = item * bits, word = operand.index + position / 32;
  uint64_t value = wave.vectors[static_cast<std::size_t>(word)].lane[lane];
  if (bits == 64)
    return value | static_cast<uint64_t>(wave.vectors[static_cast<std::size_t>(word) + 1].lane[lane]) << 32;
  return lower(value >> (position % 32), static_cast<unsigned>(bits));
}

inline void set_element(Wave& wave, const Operand& operand, int lane, int item, int bits, uint64_t value) {
  int word = operand.index + item * bits / 32;
  wave.vectors[static_cast<std::size_t>(word)].lane[lane] = static_cast<uint32_t>(value);
  if (bits == 64) wave.vectors[static_cast<std::size_t>(word) + 1].lane[lane] = static_cast<uint32_t>(value >> 32);
}

// What matrices are made of: how many bits an element has, and its value.
struct Float32 {
  using Value = float;
  static constexpr int kBits = 32;
  static Value of(uint64_t word) { return bits<float>(static_cast<uint32_t>(word)); }
};
struct Float64 {
  using Value = double;
  static constexpr int kBits = 64;
  static Value of(uint64_t word) { return bits<double>(word); }
};
struct Float16 {
  using Value = double;
  static constexpr int kBits = 16;
  static Value of(uint64_t word) { return float_of_half(static_cast<uint16_t>(word)); }
};
struct BFloat16 {
  using Value = double;
  static constexpr int kBits = 16;
  static Value of(uint64_t word) { return float_of_bfloat(static_cast<uint16_t>(word)); }
};
// TF32 as AMD has it: a float of which 10 bits of the fraction count.
struct XFloat32 {
  using Value = double;
  static constexpr int kBits = 32;
  static Value of(uint64_t word) {
    uint32_t rounded = static_cast<uint32_t>(word) + 0xfffu + (static_cast<uint32_t>(word) >> 13 & 1);
    return bits<float>(rounded & ~0x1fffu);
  }
};
template <typename Format>
struct Float8 {
  using Value = double;
  static constexpr int kBits = 8;
  static Value of(uint64_t word) { return float_of_float8<Format>(static_cast<uint8_t>(word)); }
};
struct Int8 {
  using Value = int32_t;
  static constexpr int kBits = 8;
  static Value of(uint64_t word) { return static_cast<int8_t>(word); }
};

}  // namespace rocm_perf::softgpu
