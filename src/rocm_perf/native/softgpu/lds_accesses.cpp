#include "softgpu/address.h"
#include "softgpu/lanes.h"
#include "softgpu/memory_access.h"
#include "softgpu/registry.h"

namespace rocm_perf::softgpu {
namespace {

// Two parts lie at offsets that count whole elements.
uint64_t part_offset(const Instruction& instruction, int part) {
  const Access& access = instruction.access;
  if (access.parts == 1) return 0;
  int64_t offset = part ? instruction.modifiers.offset1 : instruction.modifiers.offset0;
  return static_cast<uint64_t>(offset) * access.stride;
}

void shift(Addresses& addresses, uint64_t by) {
  for (uint64_t& address : addresses.lane) address = (address + by) & 0xffffffffu;
}

uint64_t part_size(const Access& access) { return uint64_t{access.bytes} * access.words; }

void load(Wave& wave, const Instruction& instruction) {
  const Access& access = instruction.access;
  Addresses base = addresses_of<Space::kLds>(wave, instruction, {1, 2}, 0);
  for (int part = 0; part < access.parts; ++part) {
    Addresses addresses = base;
    shift(addresses, part_offset(instruction, part));
    note_access<Space::kLds>(wave, instruction, addresses, part_size(access));
    Register* target = &wave.vectors[instruction.operands[0].index + part * access.words];
    each_active_lane(wave, [&](int lane) {
      load_lane(access, located<Space::kLds>(wave, lane, addresses.lane[lane], part_size(access), false), target, lane);
    });
  }
}

void store(Wave& wave, const Instruction& instruction) {
  const Access& access = instruction.access;
  Addresses base = addresses_of<Space::kLds>(wave, instruction, {0, 2}, 0);
  for (int part = 0; part < access.parts; ++part) {
    Addresses addresses = base;
    shift(addresses, part_offset(instruction, part));
    note_access<Space::kLds>(wave, instruction, addresses, part_size(access));
    const Register* source = &wave.vectors[instruction.operands[1 + part].index];
    each_active_lane(wave, [&](int lane) {
      store_lane(access, located<Space::kLds>(wave, lane, addresses.lane[lane], part_size(access), true), source, lane);
    });
  }
}

struct Form {
  const char* name;
  Access access;
};

const Form kLoads[] = {
    {"u8", {.bytes = 1}},
    {"i8", {.bytes = 1, .is_signed = true}},
    {"u16", {.bytes = 2}},
    {"i16", {.bytes = 2, .is_signed = true}},
    {"b32", {}},
    {"b64", {.words = 2}},
    {"b96", {.words = 3}},
    {"b128", {.words = 4}},
    {"u8_d16", {.bytes = 1, .half = Access::kLow}},
    {"u8_d16_hi", {.bytes = 1, .half = Access::kHigh}},
    {"i8_d16", {.bytes = 1, .is_signed = true, .half = Access::kLow}},
    {"i8_d16_hi", {.bytes = 1, .is_signed = true, .half = Access::kHigh}},
    {"u16_d16", {.bytes = 2, .half = Access::kLow}},
    {"u16_d16_hi", {.bytes = 2, .half = Access::kHigh}},
};

const Form kStores[] = {
    {"b8", {.bytes = 1}},
    {"b16", {.bytes = 2}},
    {"b32", {}},
    {"b64", {.words = 2}},
    {"b96", {.words = 3}},
    {"b128", {.words = 4}},
    {"b8_d16_hi", {.bytes = 1, .half = Access::kHigh}},
    {"b16_d16_hi", {.bytes = 2, .half = Access::kHigh}},
};

struct PairForm {
  const char* old_name;
  const char* new_name;
  Access access;
};

const PairForm kPairs[] = {
    {"2_b32", "2addr_b32", {.parts = 2, .stride = 4}},
    {"2_b64", "2addr_b64", {.words = 2, .parts = 2, .stride = 8}},
    {"2st64_b32", "2addr_stride64_b32", {.parts = 2, .stride = 256}},
    {"2st64_b64", "2addr_stride64_b64", {.words = 2, .parts = 2, .stride = 512}},
};

}  // namespace

Table lds_accesses() {
  Table table;
  // gfx9 reads and writes what gfx11 loads and stores.
  auto add = [&](const char* old_prefix, const char* new_prefix, const std::string& name, const Entry& entry) {
    table.emplace_back(old_prefix + name, entry);
    table.emplace_back(new_prefix + name, entry);
  };
  for (const Form& form : kLoads) add("ds_read_", "ds_load_", form.name, Entry{load, {}, form.access});
  for (const Form& form : kStores) add("ds_write_", "ds_store_", form.name, Entry{store, {}, form.access});
  for (const PairForm& form : kPairs) {
    table.emplace_back(std::string("ds_read") + form.old_name, Entry{load, {}, form.access});
    table.emplace_back(std::string("ds_load_") + form.new_name, Entry{load, {}, form.access});
    table.emplace_back(std::string("ds_write") + form.old_name, Entry{store, {}, form.access});
    table.emplace_back(std::string("ds_store_") + form.new_name, Entry{store, {}, form.access});
  }
  table.emplace_back("ds_nop", Entry{[](Wave&, const Instruction&) {}});
  return table;
}

}  // namespace rocm_perf::softgpu
