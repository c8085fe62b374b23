#include <cmath>

#include "softgpu/lanes.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

void add(Table& table, const std::string& name, const Entry& entry) {
  table.emplace_back("v_cmp_" + name, entry);
  table.emplace_back("v_cmpx_" + name, entry);
}

template <typename T>
void add_integers(Table& table, const std::string& type) {
  add(table, "f_" + type, compare([](T, T) { return false; }));
  add(table, "lt_" + type, compare([](T a, T b) { return a < b; }));
  add(table, "eq_" + type, compare([](T a, T b) { return a == b; }));
  add(table, "le_" + type, compare([](T a, T b) { return a <= b; }));
  add(table, "gt_" + type, compare([](T a, T b) { return a > b; }));
  add(table, "ne_" + type, compare([](T a, T b) { return a != b; }));
  add(table, "ge_" + type, compare([](T a, T b) { return a >= b; }));
  add(table, "t_" + type, compare([](T, T) { return true; }));
}

// Halves are compared as the floats that they convert to.
template <typename T>
using Compared = std::conditional_t<std::is_same_v<T, Half>, float, T>;

template <typename T>
void add_floats(Table& table, const std::string& type) {
  using C = Compared<T>;
  add(table, "f_" + type, compare([](T, T) { return false; }));
  add(table, "lt_" + type, compare([](T a, T b) { return C(a) < C(b); }));
  add(table, "eq_" + type, compare([](T a, T b) { return C(a) == C(b); }));
  add(table, "le_" + type, compare([](T a, T b) { return C(a) <= C(b); }));
  add(table, "gt_" + type, compare([](T a, T b) { return C(a) > C(b); }));
  add(table, "lg_" + type, compare([](T a, T b) { return C(a) < C(b) || C(a) > C(b); }));
  add(table, "ge_" + type, compare([](T a, T b) { return C(a) >= C(b); }));
  add(table, "o_" + type, compare([](T a, T b) { return C(a) == C(a) && C(b) == C(b); }));
  add(table, "u_" + type, compare([](T a, T b) { return C(a) != C(a) || C(b) != C(b); }));
  add(table, "nge_" + type, compare([](T a, T b) { return !(C(a) >= C(b)); }));
  add(table, "nlg_" + type, compare([](T a, T b) { return !(C(a) < C(b) || C(a) > C(b)); }));
  add(table, "ngt_" + type, compare([](T a, T b) { return !(C(a) > C(b)); }));
  add(table, "nle_" + type, compare([](T a, T b) { return !(C(a) <= C(b)); }));
  add(table, "neq_" + type, compare([](T a, T b) { return !(C(a) == C(b)); }));
  add(table, "nlt_" + type, compare([](T a, T b) { return !(C(a) < C(b)); }));
  add(table, "tru_" + type, compare([](T, T) { return true; }));
  add(table, "t_" + type, compare([](T, T) { return true; }));
}

// The ten classes of a floating-point number, in the order of the bits of v_cmp_class.
template <typename Word, int kExponentBits>
bool is_of_class(Word word, uint32_t classes) {
  constexpr int kBits = sizeof(Word) * 8, kFractionBits = kBits - 1 - kExponentBits;
  constexpr Word kMostExponent = (Word{1} << kExponentBits) - 1;
  bool is_negative = word >> (kBits - 1) & 1;
  Word exponent = static_cast<Word>(word >> kFractionBits & kMostExponent);
  Word fraction = static_cast<Word>(word & ((Word{1} << kFractionBits) - 1));
  if (exponent == kMostExponent && fraction) return classes >> (fraction >> (kFractionBits - 1) & 1) & 1;
  int magnitude = exponent == kMostExponent ? 3 : exponent ? 2 : fraction ? 1 : 0;
  return classes >> (is_negative ? 5 - magnitude : 6 + magnitude) & 1;
}

}  // namespace

Table comparisons() {
  Table table;
  add_integers<int32_t>(table, "i32");
  add_integers<uint32_t>(table, "u32");
  add_integers<int64_t>(table, "i64");
  add_integers<uint64_t>(table, "u64");
  add_integers<int16_t>(table, "i16");
  add_integers<uint16_t>(table, "u16");
  add_floats<float>(table, "f32");
  add_floats<double>(table, "f64");
  add_floats<Half>(table, "f16");
  add(table, "class_f32", compare([](float a, uint32_t b) { return is_of_class<uint32_t, 8>(bits<uint32_t>(a), b); }));
  add(table, "class_f64",
      compare([](double a, uint32_t b) { return is_of_class<uint64_t, 11>(bits<uint64_t>(a), b); }));
  add(table, "class_f16", compare([](Half a, uint32_t b) { return is_of_class<uint16_t, 5>(a.word, b); }));
  return table;
}

}  // namespace rocm_perf::softgpu
