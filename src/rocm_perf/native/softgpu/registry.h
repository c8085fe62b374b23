// Which function executes which instruction, by the name that LLVM gives it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softgpu/instruction.h"

namespace rocm_perf::softgpu {

using Table = std::vector<std::pair<std::string, Entry>>;

// Each family of instructions has a table and a file.
Table scalar_arithmetic();
Table scalar_logic();
Table scalar_control();
Table scalar_memory();
Table vector_float();
Table vector_integer();
Table vector_logic();
Table vector_conversions();
Table vector_special();
Table vector_carry();
Table vector_packed();
Table comparisons();
Table lane_exchange();
Table register_index();
Table memory_accesses();
Table memory_atomics();
Table lds_accesses();
Table lds_atomics();
Table mixed_precision();
Table matrix_products();
Table wave_matrix_products();

// How instructions of this name are executed, nothing if that is not known.
const Entry* find_entry(const std::string& name);

}  // namespace rocm_perf::softgpu
