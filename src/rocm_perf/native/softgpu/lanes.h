// Sources and results of vector instructions, in all lanes; and instructions made of functions of one lane.
#pragma once

#include <type_traits>
#include <utility>

#include "softgpu/wave.h"

namespace rocm_perf::softgpu {

template <typename T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>) return Type::kF32;
  if constexpr (std::is_same_v<T, double>) return Type::kF64;
  if constexpr (std::is_same_v<T, Half>) return Type::kF16;
  if constexpr (std::is_same_v<T, uint64_t>) return Type::kB64;
  if constexpr (std::is_same_v<T, int64_t>) return Type::kI64;
  return sizeof(T) == 2 ? Type::kB16 : Type::kB32;
}

template <typename T>
inline T of_word(uint32_t word) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
    return T::of(static_cast<uint16_t>(word));
  else if constexpr (sizeof(T) == 4)
    return bits<T>(word);
  else
    return static_cast<T>(word);
}

template <typename T>
inline uint32_t to_word(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
    return value.word;
  else if constexpr (sizeof(T) == 4)
    return bits<uint32_t>(value);
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

// A lane's mask as all bits of a word, for the active lanes of the wave.
const Register& active_lanes(Wave& wave);

// One word of a source in all lanes: of a register as it is, or made in `space` of a scalar, constant or modified one.
// `ordinal`: which source it is, for modifiers that are listed by source.
const uint32_t* made_source(Wave& wave, const Instruction& instruction, int operand, int ordinal, Type type, int word,
                            Register& space);

inline const uint32_t* source_word(Wave& wave, const Instruction& instruction, int operand, int ordinal, Type type,
                                   int word, Register& space) {
  const Operand& source = instruction.operands[operand];
  bool is_direct = source.kind == Operand::kVector && instruction.is_plain && !source.is_modified() &&
                   (type != Type::kF32 || !wave.flushes_f32());
  if (is_direct) return wave.vectors[source.index + word].lane;
  return made_source(wave, instruction, operand, ordinal, type, word, space);
}

// Writes a register in the active lanes; the instruction's modifiers (clamp, parts, lane masks) are applied.
void put(Wave& wave, const Instruction& instruction, int operand, Register& result, Type type, int word = 0);

template <typename T>
class Source {
 public:
  Source(Wave& wave, const Instruction& instruction, int operand, int ordinal)
      : low_(source_word(wave, instruction, operand, ordinal, type_of<T>(), 0, low_space_)) {
    if constexpr (sizeof(T) == 8)
      high_ = source_word(wave, instruction, operand, ordinal, type_of<T>(), 1, high_space_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  T operator[](int lane) const {
    if constexpr (sizeof(T) == 8)
      return bits<T>(low_[lane] | static_cast<uint64_t>(high_[lane]) << 32);
    else
      return of_word<T>(low_[lane]);
  }

 private:
  struct Nothing {};
  Register low_space_;
  std::conditional_t<sizeof(T) == 8, Register, Nothing> high_space_;
  const uint32_t* low_;
  const uint32_t* high_ = nullptr;
};

template <typename T>
class Result {
 public:
  void set(int lane, T value) {
    if constexpr (sizeof(T) == 8) {
      uint64_t word = bits<uint64_t>(value);
      low_.lane[lane] = static_cast<uint32_t>(word);
      high_.lane[lane] = static_cast<uint32_t>(word >> 32);
    } else {
      low_.lane[lane] = to_word(value);
    }
  }

  void put_into(Wave& wave, const Instruction& instruction, int operand) {
    if constexpr (sizeof(T) == 8) {
      if (instruction.modifiers.clamp || instruction.modifiers.output_scale) adjust(wave, instruction);
      put(wave, instruction, operand, low_, Type::kB32, 0);
      put(wave, instruction, operand, high_, Type::kB32, 1);
    } else {
      put(wave, instruction, operand, low_, type_of<T>());
    }
  }

 private:
  void adjust(Wave& wave, const Instruction& instruction) {
    static constexpr double kScales[] = {1, 2, 4, 0.5};
    if constexpr (std::is_same_v<T, double>)
      for (int lane = 0; lane < wave.size; ++lane) {
        double value = bits<double>(low_.lane[lane] | static_cast<uint64_t>(high_.lane[lane]) << 32);
        value *= kScales[instruction.modifiers.output_scale];
        if (instruction.modifiers.clamp) value = value > 0 ? (value < 1 ? value : 1) : 0;  // NaN becomes 0
        set(lane, value);
      }
  }

  struct Nothing {};
  Register low_;
  std::conditional_t<sizeof(T) == 8, Register, Nothing> high_;
};

// Runs `body` for every lane, in blocks that the compiler turns into vectors.
template <typename Body>
inline void each_lane(const Wave& wave, Body body) {
  for (int block = 0; block < wave.size; block += 32)
    for (int lane = block; lane < block + 32; ++lane) body(lane);
}

template <typename Body>
inline void each_active_lane(const Wave& wave, Body body) {
  for (uint64_t left = wave.exec(); left; left &= left - 1) body(__builtin_ctzll(left));
}

// The lanes whose flag is 1, as a mask.
inline uint64_t packed(const uint8_t (&flags)[kLanes], int size) {
  uint64_t mask = 0;
  for (int byte = 0; byte < size / 8; ++byte) {
    uint64_t eight;
    std::memcpy(&eight, flags + 8 * byte, sizeof eight);
    mask |= (eight * 0x0102040810204080u >> 56) << (8 * byte);  // one bit of each byte, side by side
  }
  return mask;
}

// Writes a mask of active lanes as a comparison does: to its first operand, and to EXEC where it is a v_cmpx.
void put_mask(Wave& wave, const Instruction& instruction, uint64_t mask);

namespace detail {

template <typename Method>
struct Signature;

template <typename R, typename Class, typename... A>
struct Signature<R (Class::*)(A...) const> {
  static constexpr std::array<Type, kMostOperands> kTypes = {type_of<R>(), type_of<A>()...};

  template <typename F>
  static void run_vector(Wave& wave, const Instruction& instruction) {
    vector_of<F>(wave, instruction, std::index_sequence_for<A...>());
  }

  template <typename F>
  static void run_compare(Wave& wave, const Instruction& instruction) {
    compare_of<F>(wave, instruction, std::index_sequence_for<A...>());
  }

 private:
  template <typename F, std::size_t... N>
  static void vector_of(Wave& wave, const Instruction& instruction, std::index_sequence<N...>) {
    vector_lanes<F>(wave, instruction, Source<A>(wave, instruction, N + 1, N)...);
  }

  template <typename F, std::size_t... N>
  static void compare_of(Wave& wave, const Instruction& instruction, std::index_sequence<N...>) {
    compare_lanes<F>(wave, instruction, Source<A>(wave, instruction, N + 1, N)...);
  }

  template <typename F>
  static void vector_lanes(Wave& wave, const Instruction& instruction, const Source<A>&... sources) {
    Result<R> result;
    each_lane(wave, [&](int lane) { result.set(lane, F{}(sources[lane]...)); });
    result.put_into(wave, instruction, 0);
  }

  template <typename F>
  static void compare_lanes(Wave& wave, const Instruction& instruction, const Source<A>&... sources) {
    uint8_t flags[kLanes];
    each_lane(wave, [&](int lane) { flags[lane] = F{}(sources[lane]...); });
    put_mask(wave, instruction, packed(flags, wave.size));
  }
};

template <typename F>
using SignatureOf = Signature<decltype(&F::operator())>;

}  // namespace detail

// An instruction that computes one result from its sources, lane by lane: {"v_add_f32", vector([](float a, float
// b)...)}.
template <typename F>
constexpr Entry vector(F) {
  return {detail::SignatureOf<F>::template run_vector<F>, detail::SignatureOf<F>::kTypes};
}

// A comparison: the function says whether a lane's bit is set.
template <typename F>
constexpr Entry compare(F) {
  return {detail::SignatureOf<F>::template run_compare<F>, detail::SignatureOf<F>::kTypes};
}

}  // namespace rocm_perf::softgpu
