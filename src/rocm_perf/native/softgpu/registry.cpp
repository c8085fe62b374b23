#include "softgpu/registry.h"

#include <unordered_map>

namespace rocm_perf::softgpu {
namespace {

using Entries = std::unordered_map<std::string, Entry>;

// Names of gfx11 for what gfx9 calls otherwise, and other spellings of one instruction.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"s_and_not1_b32", "s_andn2_b32"},
    {"s_and_not1_b64", "s_andn2_b64"},
    {"s_or_not1_b32", "s_orn2_b32"},
    {"s_or_not1_b64", "s_orn2_b64"},
    {"s_and_not1_saveexec_b32", "s_andn2_saveexec_b32"},
    {"s_and_not1_saveexec_b64", "s_andn2_saveexec_b64"},
    {"s_or_not1_saveexec_b32", "s_orn2_saveexec_b32"},
    {"s_or_not1_saveexec_b64", "s_orn2_saveexec_b64"},
    {"s_and_not0_saveexec_b32", "s_andn1_saveexec_b32"},
    {"s_and_not0_saveexec_b64", "s_andn1_saveexec_b64"},
    {"s_and_not1_wrexec_b32", "s_andn2_wrexec_b32"},
    {"s_and_not1_wrexec_b64", "s_andn2_wrexec_b64"},
    {"s_ctz_i32_b32", "s_ff1_i32_b32"},
    {"s_ctz_i32_b64", "s_ff1_i32_b64"},
    {"s_clz_i32_u32", "s_flbit_i32_b32"},
    {"s_clz_i32_u64", "s_flbit_i32_b64"},
    {"s_cls_i32", "s_flbit_i32"},
    {"v_ctz_i32_b32", "v_ffbl_b32"},
    {"v_clz_i32_u32", "v_ffbh_u32"},
    {"v_cls_i32", "v_ffbh_i32"},
    {"v_add_nc_u32", "v_add_u32"},
    {"v_sub_nc_u32", "v_sub_u32"},
    {"v_subrev_nc_u32", "v_subrev_u32"},
    {"v_add_nc_i32", "v_add_i32"},
    {"v_sub_nc_i32", "v_sub_i32"},
    {"v_add_nc_u16", "v_add_u16"},
    {"v_sub_nc_u16", "v_sub_u16"},
    {"v_add_nc_i16", "v_add_i16"},
    {"v_sub_nc_i16", "v_sub_i16"},
    {"v_add_co_ci_u32", "v_addc_co_u32"},
    {"v_sub_co_ci_u32", "v_subb_co_u32"},
    {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
    {"v_min3_num_f32", "v_min3_f32"},
    {"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"},
    {"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"},
    {"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"},
    {"v_cvt_pk_norm_i16_f32", "v_cvt_pknorm_i16_f32"},
    {"v_cvt_pk_norm_u16_f32", "v_cvt_pknorm_u16_f32"},
    {"v_mul_dx9_zero_f32", "v_mul_legacy_f32"},
    {"v_fma_dx9_zero_f32", "v_fma_legacy_f32"},
    {"v_dual_mul_dx9_zero_f32", "v_mul_legacy_f32"},
};

void add(Entries& entries, const Table& table) {
  for (const auto& [name, entry] : table) entries.emplace(name, entry);
}

Entries all_entries() {
  Entries entries;
  constexpr Table (*kTables[])() = {
      scalar_arithmetic, scalar_logic,       scalar_control,       scalar_memory,   vector_float,   vector_integer,
      vector_logic,      vector_conversions, vector_special,       vector_carry,    vector_packed,  mixed_precision,
      comparisons,       lane_exchange,      register_index,       memory_accesses, memory_atomics, lds_accesses,
      lds_atomics,       matrix_products,    wave_matrix_products,
  };
  for (auto table : kTables) add(entries, table());
  for (const auto& [alias, name] : kAliases)
    if (auto known = entries.find(std::string(name)); known != entries.end())
      entries.emplace(std::string(alias), known->second);
  return entries;
}

}  // namespace

const Entry* find_entry(const std::string& name) {
  static const Entries entries = all_entries();
  auto known = entries.find(name);
  if (known == entries.end() && name.compare(0, 7, "v_dual_") == 0) known = entries.find("v_" + name.substr(7));
  return known == entries.end() ? nullptr : &known->second;
}

}  // namespace rocm_perf::softgpu
