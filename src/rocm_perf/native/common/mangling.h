// How long a mangled C++ name would be if every reference in it were written out.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocm_perf {

// False too where the name cannot be read. The rules, and why: analysis/basis/mangling.py, which decides the same.
bool unfolds_within(std::string_view name, std::int64_t limit);

}  // namespace rocm_perf
