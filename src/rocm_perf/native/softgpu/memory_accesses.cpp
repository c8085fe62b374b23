#include "softgpu/address.h"
#include "softgpu/lanes.h"
#include "softgpu/memory_access.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

template <Space space>
constexpr Pointer load_pointer() {
  return {1, 2};
}

template <Space space>
constexpr Pointer store_pointer() {
  if constexpr (space == Space::kBuffer) return {1, 2};
  return {0, 2};
}

template <Space space>
void load(Wave& wave, const Instruction& instruction) {
  const Access& access = instruction.access;
  uint64_t size = uint64_t{access.bytes} * access.words;
  Addresses addresses = addresses_of<space>(wave, instruction, load_pointer<space>(), size);
  note_access<space>(wave, instruction, addresses, size);
  Register* target = &wave.vectors[instruction.operands[0].index];
  each_active_lane(wave, [&](int lane) {
    load_lane(access, located<space>(wave, lane, addresses.lane[lane], size, false), target, lane);
  });
}

template <Space space>
void store(Wave& wave, const Instruction& instruction) {
  const Access& access = instruction.access;
  uint64_t size = uint64_t{access.bytes} * access.words;
  Addresses addresses = addresses_of<space>(wave, instruction, store_pointer<space>(), size);
  note_access<space>(wave, instruction, addresses, size);
  const Register* source = &wave.vectors[instruction.operands[space == Space::kBuffer ? 0 : 1].index];
  each_active_lane(wave, [&](int lane) {
    store_lane(access, located<space>(wave, lane, addresses.lane[lane], size, true), source, lane);
  });
}

struct Form {
  const char* names[2];  // of gfx9 and of gfx11
  Access access;
};

const Form kLoads[] = {
    {{"load_ubyte", "load_u8"}, {.bytes = 1}},
    {{"load_sbyte", "load_i8"}, {.bytes = 1, .is_signed = true}},
    {{"load_ushort", "load_u16"}, {.bytes = 2}},
    {{"load_sshort", "load_i16"}, {.bytes = 2, .is_signed = true}},
    {{"load_dword", "load_b32"}, {}},
    {{"load_dwordx2", "load_b64"}, {.words = 2}},
    {{"load_dwordx3", "load_b96"}, {.words = 3}},
    {{"load_dwordx4", "load_b128"}, {.words = 4}},
    {{"load_ubyte_d16", "load_d16_u8"}, {.bytes = 1, .half = Access::kLow}},
    {{"load_ubyte_d16_hi", "load_d16_hi_u8"}, {.bytes = 1, .half = Access::kHigh}},
    {{"load_sbyte_d16", "load_d16_i8"}, {.bytes = 1, .is_signed = true, .half = Access::kLow}},
    {{"load_sbyte_d16_hi", "load_d16_hi_i8"}, {.bytes = 1, .is_signed = true, .half = Access::kHigh}},
    {{"load_short_d16", "load_d16_b16"}, {.bytes = 2, .half = Access::kLow}},
    {{"load_short_d16_hi", "load_d16_hi_b16"}, {.bytes = 2, .half = Access::kHigh}},
};

const Form kStores[] = {
    {{"store_byte", "store_b8"}, {.bytes = 1}},
    {{"store_short", "store_b16"}, {.bytes = 2}},
    {{"store_dword", "store_b32"}, {}},
    {{"store_dwordx2", "store_b64"}, {.words = 2}},
    {{"store_dwordx3", "store_b96"}, {.words = 3}},
    {{"store_dwordx4", "store_b128"}, {.words = 4}},
    {{"store_byte_d16_hi", "store_d16_hi_b8"}, {.bytes = 1, .half = Access::kHigh}},
    {{"store_short_d16_hi", "store_d16_hi_b16"}, {.bytes = 2, .half = Access::kHigh}},
};

template <Space space>
void add(Table& table, const std::string& prefix) {
  constexpr std::array<Type, kMostOperands> kTypes = {Type::kB32, Type::kB32, Type::kB64, Type::kB32};
  for (const Form& form : kLoads)
    for (const char* name : form.names) table.emplace_back(prefix + name, Entry{load<space>, kTypes, form.access});
  for (const Form& form : kStores)
    for (const char* name : form.names) table.emplace_back(prefix + name, Entry{store<space>, kTypes, form.access});
}

}  // namespace

Table memory_accesses() {
  Table table;
  add<Space::kGlobal>(table, "global_");
  add<Space::kFlat>(table, "flat_");
  add<Space::kScratch>(table, "scratch_");
  add<Space::kBuffer>(table, "buffer_");
  return table;
}

}  // namespace rocm_perf::softgpu
