#include "softgpu/atomics.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

template <bool returns>
void run(Wave& wave, const Instruction& instruction) {
  run_atomic<Space::kLds>(wave, instruction, {returns ? 1 : 0, kMostOperands}, returns ? 2 : 1, returns);
}

// gfx9 has the comparand before the new value, gfx11 after it, in registers of their own.
template <typename T, bool returns, bool is_comparand_first>
void compare_and_swap(Wave& wave, const Instruction& instruction) {
  constexpr int kFirst = returns ? 1 : 0;
  uint64_t size = sizeof(T);
  Addresses addresses = addresses_of<Space::kLds>(wave, instruction, {kFirst, kMostOperands}, size);
  note_access<Space::kLds>(wave, instruction, addresses, size);
  note_contention(wave, instruction, addresses);
  auto value_of = [&](int operand, int lane) {
    const Register* word = &wave.vectors[instruction.operands[operand].index];
    uint64_t value = word[0].lane[lane];
    if (sizeof(T) == 8) value |= static_cast<uint64_t>(word[1].lane[lane]) << 32;
    return static_cast<T>(value);
  };
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    unsigned char* at = located<Space::kLds>(wave, lane, addresses.lane[lane], size, true);
    T comparand = value_of(kFirst + (is_comparand_first ? 1 : 2), lane), old;
    T fresh = value_of(kFirst + (is_comparand_first ? 2 : 1), lane);
    std::memcpy(&old, at, sizeof old);
    if (old == comparand) std::memcpy(at, &fresh, sizeof fresh);
    if (!returns) continue;
    Register* target = &wave.vectors[instruction.operands[0].index];
    target[0].lane[lane] = static_cast<uint32_t>(old);
    if (sizeof(T) == 8) target[1].lane[lane] = static_cast<uint32_t>(static_cast<uint64_t>(old) >> 32);
  }
}

}  // namespace

Table lds_atomics() {
  Table table = {
      {"ds_cmpst_b32", {compare_and_swap<uint32_t, false, true>}},
      {"ds_cmpst_b64", {compare_and_swap<uint64_t, false, true>}},
      {"ds_cmpst_rtn_b32", {compare_and_swap<uint32_t, true, true>}},
      {"ds_cmpst_rtn_b64", {compare_and_swap<uint64_t, true, true>}},
      {"ds_cmpstore_b32", {compare_and_swap<uint32_t, false, false>}},
      {"ds_cmpstore_b64", {compare_and_swap<uint64_t, false, false>}},
      {"ds_cmpstore_rtn_b32", {compare_and_swap<uint32_t, true, false>}},
      {"ds_cmpstore_rtn_b64", {compare_and_swap<uint64_t, true, false>}},
  };
  for (const AtomicForm& form : atomic_forms()) {
    if (!form.lds_name) continue;
    std::string name = form.lds_name;
    Access access{.bytes = form.bytes, .words = static_cast<uint8_t>(form.bytes / 4)};
    std::string returning = name;
    returning.insert(name.rfind('_'), "_rtn");
    table.emplace_back("ds_" + name, Entry{run<false>, {}, access, form.combine});
    table.emplace_back("ds_" + returning, Entry{run<true>, {}, access, form.combine});
  }
  for (const char* width : {"b32", "b64"}) {  // gfx11's name of the exchange
    for (const auto& [name, entry] : Table(table))
      if (name == std::string("ds_wrxchg_rtn_") + width)
        table.emplace_back(std::string("ds_storexchg_rtn_") + width, entry);
  }
  return table;
}

}  // namespace rocm_perf::softgpu
