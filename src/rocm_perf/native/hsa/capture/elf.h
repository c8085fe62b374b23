// The names that a code object defines: symbols of an AMD ELF file.
#pragma once

#include <string>
#include <vector>

namespace rocm_perf {

std::string without_kd(const std::string& name);

// Everything that a code object defines; nothing if it is not an ELF file that we can read.
std::vector<std::string> names_of(const char* data, std::size_t size);

// Its kernels, by their own names.
std::vector<std::string> kernels_of(const char* data, std::size_t size);

}  // namespace rocm_perf
