// Operands and modifiers of an instruction, from the words that LLVM's disassembler prints.
#pragma once

#include <string_view>
#include <vector>

#include "softgpu/instruction.h"

namespace rocm_perf::softgpu {

// An operand such as `v[0:1]`, `-|s3|`, `0x10`, `1.0` or `vcc_lo`; absent where it is none of these.
Operand operand_of(std::string_view text);

// Notes a word such as `offset:16`, `offen` or `quad_perm:[1,0,3,2]`; false where it is not known.
bool apply_modifier(std::string_view word, Modifiers& modifiers);

// The text between commas outside of brackets, without spaces around it.
std::vector<std::string_view> split_operands(std::string_view text);

// The words of a text, separated by spaces outside of brackets.
std::vector<std::string_view> split_words(std::string_view text);

}  // namespace rocm_perf::softgpu
