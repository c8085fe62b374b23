#include "softgpu/atomics.h"

#include "softgpu/arithmetic.h"
#include "softgpu/lanes.h"

namespace rocm_perf::softgpu {
namespace {

template <typename T>
T number_of(uint64_t word) {
  if constexpr (sizeof(T) == 4)
    return bits<T>(static_cast<uint32_t>(word));
  else
    return bits<T>(word);
}

template <typename T>
uint64_t word_of(T value) {
  if constexpr (sizeof(T) == 4)
    return bits<uint32_t>(value);
  else
    return bits<uint64_t>(value);
}

template <typename T, auto F>
uint64_t combined(uint64_t old, uint64_t data, uint64_t) {
  return word_of<T>(static_cast<T>(F(number_of<T>(old), number_of<T>(data))));
}

template <typename T>
uint64_t compare_and_swap(uint64_t old, uint64_t data, uint64_t compare) {
  return number_of<T>(old) == number_of<T>(compare) ? data : old;
}

template <typename T>
uint64_t pairwise_sum(uint64_t old, uint64_t data, uint64_t) {
  auto half = [&](int shift) {
    float sum = float{T::of(static_cast<uint16_t>(old >> shift))} + float{T::of(static_cast<uint16_t>(data >> shift))};
    return static_cast<uint64_t>(T(sum).word) << shift;
  };
  return half(0) | half(16);
}

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSubtract = [](auto a, auto b) { return a - b; };
constexpr auto kLeast = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto kMost = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto kLeastFloat = [](auto a, auto b) { return minimum(a, b); };
constexpr auto kMostFloat = [](auto a, auto b) { return maximum(a, b); };
constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
constexpr auto kSwap = [](auto, auto b) { return b; };
constexpr auto kIncrement = [](auto a, auto b) { return a >= b ? decltype(a){0} : a + 1; };
constexpr auto kDecrement = [](auto a, auto b) { return a == 0 || a > b ? b : a - 1; };

std::vector<AtomicForm> made() {
  return {
      {"add", "", "add_u32", "add_u32", 4, false, combined<uint32_t, kAdd>},
      {"sub", "", "sub_u32", "sub_u32", 4, false, combined<uint32_t, kSubtract>},
      {"smin", "", "min_i32", "min_i32", 4, false, combined<int32_t, kLeast>},
      {"smax", "", "max_i32", "max_i32", 4, false, combined<int32_t, kMost>},
      {"umin", "", "min_u32", "min_u32", 4, false, combined<uint32_t, kLeast>},
      {"umax", "", "max_u32", "max_u32", 4, false, combined<uint32_t, kMost>},
      {"and", "", "and_b32", "and_b32", 4, false, combined<uint32_t, kAnd>},
      {"or", "", "or_b32", "or_b32", 4, false, combined<uint32_t, kOr>},
      {"xor", "", "xor_b32", "xor_b32", 4, false, combined<uint32_t, kXor>},
      {"inc", "", "inc_u32", "inc_u32", 4, false, combined<uint32_t, kIncrement>},
      {"dec", "", "dec_u32", "dec_u32", 4, false, combined<uint32_t, kDecrement>},
      {"swap", "", "swap_b32", "wrxchg_b32", 4, false, combined<uint32_t, kSwap>},
      {"cmpswap", "", "cmpswap_b32", nullptr, 4, true, compare_and_swap<uint32_t>},
      {"add", "_x2", "add_u64", "add_u64", 8, false, combined<uint64_t, kAdd>},
      {"sub", "_x2", "sub_u64", "sub_u64", 8, false, combined<uint64_t, kSubtract>},
      {"smin", "_x2", "min_i64", "min_i64", 8, false, combined<int64_t, kLeast>},
      {"smax", "_x2", "max_i64", "max_i64", 8, false, combined<int64_t, kMost>},
      {"umin", "_x2", "min_u64", "min_u64", 8, false, combined<uint64_t, kLeast>},
      {"umax", "_x2", "max_u64", "max_u64", 8, false, combined<uint64_t, kMost>},
      {"and", "_x2", "and_b64", "and_b64", 8, false, combined<uint64_t, kAnd>},
      {"or", "_x2", "or_b64", "or_b64", 8, false, combined<uint64_t, kOr>},
      {"xor", "_x2", "xor_b64", "xor_b64", 8, false, combined<uint64_t, kXor>},
      {"inc", "_x2", "inc_u64", "inc_u64", 8, false, combined<uint64_t, kIncrement>},
      {"dec", "_x2", "dec_u64", "dec_u64", 8, false, combined<uint64_t, kDecrement>},
      {"swap", "_x2", "swap_b64", "wrxchg_b64", 8, false, combined<uint64_t, kSwap>},
      {"cmpswap", "_x2", "cmpswap_b64", nullptr, 8, true, compare_and_swap<uint64_t>},
      {"add_f32", "", "add_f32", "add_f32", 4, false, combined<float, kAdd>},
      {"fmin", "", "min_f32", "min_f32", 4, false, combined<float, kLeastFloat>},
      {"fmax", "", "max_f32", "max_f32", 4, false, combined<float, kMostFloat>},
      {"add_f64", "", "add_f64", "add_f64", 8, false, combined<double, kAdd>},
      {"min_f64", "", "min_f64", "min_f64", 8, false, combined<double, kLeastFloat>},
      {"max_f64", "", "max_f64", "max_f64", 8, false, combined<double, kMostFloat>},
      {"pk_add_f16", "", "pk_add_f16", "pk_add_f16", 4, false, pairwise_sum<Half>},
      {"pk_add_bf16", "", "pk_add_bf16", "pk_add_bf16", 4, false, pairwise_sum<BFloat>},
  };
}

template <typename T>
uint64_t exchanged(unsigned char* at, Combine combine, uint64_t data, uint64_t compare) {
  auto* word = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(word, &old, static_cast<T>(combine(old, data, compare)), true, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return old;
}

uint64_t lane_word(const Wave& wave, int index, int words, int lane) {
  uint64_t value = wave.vectors[static_cast<std::size_t>(index)].lane[lane];
  if (words == 2) value |= static_cast<uint64_t>(wave.vectors[static_cast<std::size_t>(index) + 1].lane[lane]) << 32;
  return value;
}

}  // namespace

const std::vector<AtomicForm>& atomic_forms() {
  static const std::vector<AtomicForm> forms = made();
  return forms;
}

template <Space space>
void run_atomic(Wave& wave, const Instruction& instruction, Pointer pointer, int data, bool returns) {
  uint64_t size = instruction.access.bytes;
  int words = instruction.access.words;
  Addresses addresses = addresses_of<space>(wave, instruction, pointer, size);
  note_access<space>(wave, instruction, addresses, size);
  note_contention(wave, instruction, addresses);
  int source = instruction.operands[data].index;
  bool compares = instruction.access.parts == 2;
  each_active_lane(wave, [&](int lane) {
    unsigned char* at = located<space>(wave, lane, addresses.lane[lane], size, true);
    uint64_t value = lane_word(wave, source, words, lane);
    uint64_t expected = compares ? lane_word(wave, source + words, words, lane) : 0;
    uint64_t old = 0;
    if (at)
      old = size == 8 ? exchanged<uint64_t>(at, instruction.combine, value, expected)
                      : exchanged<uint32_t>(at, instruction.combine, value, expected);
    if (!returns) return;
    wave.vectors[instruction.operands[0].index].lane[lane] = static_cast<uint32_t>(old);
    if (words == 2) wave.vectors[instruction.operands[0].index + 1].lane[lane] = static_cast<uint32_t>(old >> 32);
  });
}

template void run_atomic<Space::kGlobal>(Wave&, const Instruction&, Pointer, int, bool);
template void run_atomic<Space::kFlat>(Wave&, const Instruction&, Pointer, int, bool);
template void run_atomic<Space::kBuffer>(Wave&, const Instruction&, Pointer, int, bool);
template void run_atomic<Space::kLds>(Wave&, const Instruction&, Pointer, int, bool);

}  // namespace rocm_perf::softgpu
