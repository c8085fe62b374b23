// Scalar instructions made of functions: {"s_and_b32", scalar_nonzero([](uint32_t a, uint32_t b) { return a & b; })}.
#pragma once

#include <tuple>

#include "softgpu/lanes.h"

namespace rocm_perf::softgpu {

// A parameter of this type is not an operand but the condition code before the instruction.
struct Scc {
  bool is_set;
};

template <typename T>
struct Flagged {  // a result with the condition code after it
  T value;
  bool scc;
};

uint32_t scalar_word(const Wave& wave, const Operand& operand, int word);

template <typename T>
inline T scalar_source(const Wave& wave, const Operand& operand) {
  uint64_t value = scalar_word(wave, operand, 0);
  if constexpr (sizeof(T) == 8)
    return bits<T>(value | static_cast<uint64_t>(scalar_word(wave, operand, 1)) << 32);
  else
    return of_word<T>(static_cast<uint32_t>(value));
}

template <typename T>
inline void put_scalar(Wave& wave, const Operand& operand, T value) {
  if constexpr (sizeof(T) == 8)
    wave.set_scalar_64(operand.index, bits<uint64_t>(value));
  else
    wave.set_scalar(operand.index, to_word(value));
}

namespace detail {

// Takes the next operand; the condition code is none.
template <typename T>
inline T next_source(const Wave& wave, const Instruction& instruction, int& at) {
  if constexpr (std::is_same_v<T, Scc>)
    return Scc{wave.scc};
  else
    return scalar_source<T>(wave, instruction.operands[at++]);
}

template <typename Method>
struct ScalarSignature;

template <typename R, typename Class, typename... A>
struct ScalarSignature<R (Class::*)(A...) const> {
  template <typename F>
  static R result(const Wave& wave, const Instruction& instruction, int at) {
    std::tuple<A...> sources{next_source<A>(wave, instruction, at)...};  // braces: from left to right
    return std::apply(F{}, sources);
  }
  template <typename F>
  static void run(Wave& wave, const Instruction& instruction) {
    put_scalar(wave, instruction.operands[0], result<F>(wave, instruction, 1));
  }
  template <typename F>
  static void run_nonzero(Wave& wave, const Instruction& instruction) {
    R value = result<F>(wave, instruction, 1);
    put_scalar(wave, instruction.operands[0], value);
    wave.scc = value != 0;
  }
  template <typename F>
  static void run_flagged(Wave& wave, const Instruction& instruction) {
    R flagged = result<F>(wave, instruction, 1);
    put_scalar(wave, instruction.operands[0], flagged.value);
    wave.scc = flagged.scc;
  }
  template <typename F>
  static void run_test(Wave& wave, const Instruction& instruction) {
    wave.scc = result<F>(wave, instruction, 0);
  }
  static constexpr std::array<Type, kMostOperands> kTypes = {Type::kB64, type_of<A>()...};
  static constexpr std::array<Type, kMostOperands> kTestTypes = {type_of<A>()...};
};

template <typename F>
using ScalarSignatureOf = ScalarSignature<decltype(&F::operator())>;

}  // namespace detail

template <typename F>  // leaves the condition code alone
constexpr Entry scalar(F) {
  return {detail::ScalarSignatureOf<F>::template run<F>, detail::ScalarSignatureOf<F>::kTypes};
}

template <typename F>  // sets it where the result is not 0
constexpr Entry scalar_nonzero(F) {
  return {detail::ScalarSignatureOf<F>::template run_nonzero<F>, detail::ScalarSignatureOf<F>::kTypes};
}

template <typename F>  // returns it beside the result
constexpr Entry scalar_flagged(F) {
  return {detail::ScalarSignatureOf<F>::template run_flagged<F>, detail::ScalarSignatureOf<F>::kTypes};
}

template <typename F>  // returns it alone
constexpr Entry scalar_test(F) {
  return {detail::ScalarSignatureOf<F>::template run_test<F>, detail::ScalarSignatureOf<F>::kTestTypes};
}

}  // namespace rocm_perf::softgpu
