#include "softgpu/decode.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "softgpu/failure.h"
#include "softgpu/registry.h"
#include "softgpu/text_operand.h"

namespace rocm_perf::softgpu {
namespace {

constexpr std::uint64_t kInverseTwoPi64 = 0x3fc45f306dc9c882;
constexpr std::uint32_t kInverseTwoPi32 = 0x3e22f983, kInverseTwoPi16 = 0x3118;

bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> many) {
  return std::any_of(many.begin(), many.end(), [&](std::string_view with) { return starts(text, with); });
}

struct Encoding {
  std::string name;  // without the suffix
  bool is_sdwa = false;
  bool is_short = false;  // VOP1, VOP2 or VOPC: its vector operands of 16 bits are halves of v0 to v127
};

Encoding encoding_of(std::string_view mnemonic) {
  Encoding encoding{std::string(mnemonic)};
  auto without = [&](std::string_view suffix) {
    if (encoding.name.size() <= suffix.size() ||
        encoding.name.compare(encoding.name.size() - suffix.size(), suffix.size(), suffix) != 0)
      return false;
    encoding.name.resize(encoding.name.size() - suffix.size());
    return true;
  };
  if (without("_e64_dpp") || without("_e64")) return encoding;
  encoding.is_sdwa = without("_sdwa");
  encoding.is_short = without("_e32") || without("_dpp");
  return encoding;
}

std::string without_comments(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t begin = text.find("/*", at);
    out += text.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    std::size_t end = text.find("*/", begin);
    if (end == std::string_view::npos) break;
    at = end + 2;
  }
  return out;
}

bool is_16_bit(Type type) { return type == Type::kF16 || type == Type::kB16; }

bool is_inverse_two_pi(double number) { return number > 0.159 && number < 0.1593; }

std::uint64_t float_bits(double number, Type type) {
  bool is_special = is_inverse_two_pi(number);
  switch (type) {
    case Type::kF64:
    case Type::kB64:
    case Type::kI64:
      return is_special ? kInverseTwoPi64 : bits<std::uint64_t>(number);
    case Type::kF16:
    case Type::kPackedF16:
      return is_special ? kInverseTwoPi16 : half_of_float(static_cast<float>(number));
    default:
      return is_special ? kInverseTwoPi32 : bits<std::uint32_t>(static_cast<float>(number));
  }
}

void settle_constant(Operand& operand, Type type) {
  if (operand.is_float) operand.value = float_bits(operand.number, type);
  if (!operand.is_literal) return;
  std::uint64_t literal = operand.value & 0xffffffffu;
  if (operand.value >> 32 && operand.value >> 31 != (std::uint64_t{1} << 33) - 1) return;  // 64 bits were written
  if (type == Type::kF64)
    operand.value = literal << 32;
  else if (type == Type::kI64)
    operand.value = static_cast<std::uint64_t>(static_cast<std::int32_t>(literal));
  else
    operand.value = literal;
}

// Multiply-adds that add to their own result.
bool accumulates(std::string_view name) {
  return starts_with_any(
      name, {"v_fmac_", "v_mac_", "v_dot2c_", "v_dot4c_", "v_dot8c_", "v_pk_fmac_", "v_dual_fmac_", "v_dual_dot2acc_"});
}

// On gfx9 most results of 16 bits clear the other half of their register; on later chips none does (LLVM,
// GCNSubtarget::zeroesHigh16BitsOfDest).
bool keeps_high_half(std::string_view name, Family family) {
  if (family == Family::kGfx11) return true;
  return starts_with_any(name, {"v_mad_f16", "v_fma_f16", "v_div_fixup_f16", "v_mad_u16", "v_mad_i16", "v_fma_mixlo"});
}

class Decoder {
 public:
  explicit Decoder(Program& program) : program_(program) {}

  Instruction decode(std::string_view text, std::uint64_t pc, const std::vector<std::uint32_t>& words) {
    std::size_t both = text.find(" :: ");
    Instruction first = one(text.substr(0, both), pc, words);
    if (both != std::string_view::npos) first.second.push_back(one(text.substr(both + 4), pc, words));
    first.text = std::string(text);
    return first;
  }

 private:
  Instruction one(std::string_view text, std::uint64_t pc, const std::vector<std::uint32_t>& words) {
    Instruction instruction;
    instruction.text = std::string(text);
    instruction.pc = pc;
    instruction.size = static_cast<std::uint32_t>(4 * words.size());
    instruction.word = words[0];
    std::size_t space = std::min(text.find(' '), text.size());
    Encoding encoding = encoding_of(text.substr(0, space));
    instruction.name = encoding.name;
    instruction.run = fail_unknown;
    const Entry* entry = find_entry(encoding.name);
    if (!entry) return instruction;
    instruction.modifiers.is_sdwa = encoding.is_sdwa;
    if (!read_operands(text.substr(space), instruction)) return instruction;
    complete(instruction, *entry, encoding);
    instruction.run = entry->run;
    instruction.access = entry->access;
    instruction.combine = entry->combine;
    instruction.shape = entry->shape;
    return instruction;
  }

  static bool read_operands(std::string_view text, Instruction& instruction) {
    if (starts_with_any(instruction.name, {"s_wait", "s_delay_alu", "s_sendmsg", "s_clause"})) return true;
    // Targets follow from the encoding; in the text they may be names.
    if (starts_with_any(instruction.name, {"s_branch", "s_cbranch_"})) return true;
    if (starts(instruction.name, "s_call_")) text = split_operands(text)[0];
    for (std::string_view piece : split_operands(text)) {
      std::vector<std::string_view> words = split_words(piece);
      for (std::size_t at = 0; at < words.size(); ++at) {
        if (at == 0 && instruction.operand_count < kMostOperands) {
          Operand operand = operand_of(words[0]);
          if (operand.kind != Operand::kAbsent || starts_with_any(words[0], {"hwreg(", "gpr_idx("})) {
            instruction.operands[instruction.operand_count++] = operand;
            continue;
          }
        }
        if (!apply_modifier(words[at], instruction.modifiers)) return false;
      }
    }
    return true;
  }

  void complete(Instruction& instruction, const Entry& entry, const Encoding& encoding) {
    const Modifiers& modifiers = instruction.modifiers;
    instruction.is_plain =
        modifiers.moves.kind == LaneMoves::kNone && !modifiers.is_sdwa && !modifiers.clamp && !modifiers.output_scale;
    complete_comparison(instruction);
    settle_halves(instruction, entry, encoding);
    if (accumulates(instruction.name) && instruction.operand_count == 3)
      instruction.operands[instruction.operand_count++] = instruction.operands[0];
    for (int at = 0; at < instruction.operand_count; ++at) {
      Operand& operand = instruction.operands[at];
      if (operand.kind == Operand::kConstant) settle_constant(operand, entry.types[at]);
      if (operand.kind == Operand::kVector)
        program_.vector_registers = std::max(program_.vector_registers, operand.index + operand.words);
    }
  }

  void complete_comparison(Instruction& instruction) const {
    instruction.sets_exec = starts(instruction.name, "v_cmpx_");
    if (!instruction.sets_exec || instruction.operand_count != 2) return;
    instruction.operands[2] = instruction.operands[1];
    instruction.operands[1] = instruction.operands[0];
    instruction.operands[0] = Operand();
    instruction.operand_count = 3;
  }

  // Which half of its register an operand of 16 bits is.
  void settle_halves(Instruction& instruction, const Entry& entry, const Encoding& encoding) const {
    bool is_gfx11 = program_.family == Family::kGfx11;
    // Older disassemblers do not print op_sel of all of these: it is taken from the encoding.
    std::uint32_t selected =
        is_gfx11 && !encoding.is_short ? instruction.word >> 11 & 0xfu : instruction.modifiers.op_sel;
    for (int at = 0; at < instruction.operand_count; ++at) {
      Operand& operand = instruction.operands[at];
      if (!is_16_bit(entry.types[at]) || operand.kind != Operand::kVector) continue;
      if (encoding.is_short && is_gfx11 && operand.index >= 128 && operand.index < 256) {
        operand.index -= 128;
        operand.high = true;
      }
      // These disassemblers print the lower half of a result where the upper half is meant.
      if (encoding.is_short && is_gfx11 && at == 0 && (instruction.word >> 24 & 1)) operand.high = true;
      int bit = at > 0 ? at - 1 : is_gfx11 ? 3 : instruction.operand_count - 1;
      if (!encoding.is_short && (selected >> bit & 1)) operand.high = true;
    }
    if (!is_16_bit(entry.types[0])) return;
    instruction.high_result = instruction.operands[0].high;
    instruction.keeps_high = keeps_high_half(instruction.name, program_.family);
  }

  Program& program_;
};

// One line of the listing: "\ttext // 000000001A00: BF8CC07F ...".
struct Line {
  std::string text;
  std::uint64_t address = 0;
  std::vector<std::uint32_t> words;
};

bool read_line(const std::string& line, Line& read) {
  if (line.empty() || line[0] != '\t') return false;
  std::size_t comment = line.rfind("// ");
  if (comment == std::string::npos) return false;
  char* rest = nullptr;
  read.address = std::strtoull(line.c_str() + comment + 3, &rest, 16);
  if (*rest != ':') return false;
  read.words.clear();
  for (++rest; *rest == ' ' && std::isxdigit(static_cast<unsigned char>(rest[1]));)
    read.words.push_back(static_cast<std::uint32_t>(std::strtoul(rest, &rest, 16)));
  read.text = without_comments(std::string_view(line).substr(1, comment - 1));
  while (!read.text.empty() && read.text.back() == ' ') read.text.pop_back();
  return !read.words.empty();
}

std::uint64_t target_of(const Instruction& instruction) {
  auto words = static_cast<std::int16_t>(instruction.word & 0xffffu);
  return instruction.pc + 4 + 4 * static_cast<std::int64_t>(words);
}

void settle_targets(Program& program) {
  for (Instruction& instruction : program.instructions) {
    if (!starts_with_any(instruction.name, {"s_branch", "s_cbranch_", "s_call_"})) continue;
    auto target = program.numbers.find(target_of(instruction));
    if (target == program.numbers.end())
      instruction.run = fail_outside_code;
    else
      instruction.target = target->second;
  }
}

}  // namespace

Program decode(std::istream& listing, const std::string& isa, std::uint64_t bias) {
  Program program;
  program.isa = isa;
  program.family = isa.compare(0, 5, "gfx11") == 0 ? Family::kGfx11 : Family::kGfx9;
  Decoder decoder(program);
  Line line;
  for (std::string text; std::getline(listing, text);) {
    if (!read_line(text, line)) continue;
    Instruction instruction = decoder.decode(line.text, line.address + bias, line.words);
    instruction.number = static_cast<std::uint32_t>(program.instructions.size());
    program.numbers[instruction.pc] = instruction.number;
    program.instructions.push_back(std::move(instruction));
  }
  settle_targets(program);
  return program;
}

}  // namespace rocm_perf::softgpu
