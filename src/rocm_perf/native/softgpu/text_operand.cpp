#include "softgpu/text_operand.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <unordered_map>

#include "softgpu/wave.h"

namespace rocm_perf::softgpu {
namespace {

const std::unordered_map<std::string_view, std::pair<ScalarIndex, int>> kNamed = {
    {"vcc", {kVcc, 2}},
    {"vcc_lo", {kVcc, 1}},
    {"vcc_hi", {static_cast<ScalarIndex>(kVcc + 1), 1}},
    {"exec", {kExec, 2}},
    {"exec_lo", {kExec, 1}},
    {"exec_hi", {static_cast<ScalarIndex>(kExec + 1), 1}},
    {"m0", {kM0, 1}},
    {"null", {kNull, 2}},
    {"scc", {kScc, 1}},
    {"src_scc", {kScc, 1}},
    {"src_vccz", {kVccz, 1}},
    {"vccz", {kVccz, 1}},
    {"src_execz", {kExecz, 1}},
    {"execz", {kExecz, 1}},
    {"flat_scratch", {kFlatScratch, 2}},
    {"flat_scratch_lo", {kFlatScratch, 1}},
    {"flat_scratch_hi", {static_cast<ScalarIndex>(kFlatScratch + 1), 1}},
    {"xnack_mask", {kXnackMask, 2}},
    {"src_shared_base", {kSharedBase, 2}},
    {"src_shared_limit", {kSharedLimit, 2}},
    {"src_private_base", {kPrivateBase, 2}},
    {"src_private_limit", {kPrivateLimit, 2}},
};

bool parse_int(std::string_view text, std::int64_t& value) {
  bool is_negative = !text.empty() && text[0] == '-';
  if (is_negative) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && text[1] == 'x') {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return false;
  value = static_cast<std::int64_t>(is_negative ? 0 - magnitude : magnitude);
  return true;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  parse_int(text, value);
  return value;
}

// `v[0:1]`, `s3`, `a[0:3]`, `ttmp9`: the prefix and the range of numbers.
bool parse_register(std::string_view text, std::string_view prefix, int& first, int& count) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  std::int64_t low = 0, high = 0;
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    std::string_view range = text.substr(1, text.size() - 2);
    std::size_t colon = range.find(':');
    if (!parse_int(range.substr(0, colon), low)) return false;
    if (colon == std::string_view::npos)
      high = low;
    else if (!parse_int(range.substr(colon + 1), high))
      return false;
  } else {
    if (text.empty() || text[0] < '0' || text[0] > '9' || !parse_int(text, low)) return false;
    high = low;
  }
  first = static_cast<int>(low);
  count = static_cast<int>(high - low + 1);
  return count > 0;
}

struct Bank {
  std::string_view prefix;
  Operand::Kind kind;
  int first;
};
constexpr Bank kBanks[] = {{"v", Operand::kVector, 0},
                           {"a", Operand::kVector, kAccumulators},
                           {"s", Operand::kScalar, 0},
                           {"ttmp", Operand::kScalar, kTtmp}};

bool parse_registers(std::string_view text, Operand& operand) {
  if (text.size() > 2 && (text.substr(text.size() - 2) == ".l" || text.substr(text.size() - 2) == ".h")) {
    operand.high = text.back() == 'h';
    text.remove_suffix(2);
  }
  for (const Bank& bank : kBanks) {
    int first = 0, count = 0;
    if (!parse_register(text, bank.prefix, first, count)) continue;
    operand.kind = bank.kind;
    operand.index = static_cast<std::uint16_t>(bank.first + first);
    operand.words = static_cast<std::uint8_t>(count);
    return true;
  }
  if (auto named = kNamed.find(text); named != kNamed.end()) {
    operand.kind = Operand::kScalar;
    operand.index = named->second.first;
    operand.words = static_cast<std::uint8_t>(named->second.second);
    return true;
  }
  return false;
}

bool parse_constant(std::string_view text, Operand& operand) {
  if (text.substr(0, 4) == "lit(") text = text.substr(4, text.size() - 5);
  std::int64_t value = 0;
  if (parse_int(text, value)) {
    operand.kind = Operand::kConstant;
    operand.value = static_cast<std::uint64_t>(value);
    operand.is_literal = text.find('x') != std::string_view::npos;
    return true;
  }
  std::string copy(text);
  char* end = nullptr;
  double parsed = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || *end) return false;
  operand.kind = Operand::kConstant;
  operand.is_float = true;
  operand.number = parsed;
  return true;
}

bool strip(std::string_view& text, std::string_view before, std::string_view after) {
  bool is_wrapped = text.size() > before.size() + after.size() && text.substr(0, before.size()) == before &&
                    text.substr(text.size() - after.size()) == after;
  if (is_wrapped) text = text.substr(before.size(), text.size() - before.size() - after.size());
  return is_wrapped;
}

template <typename At>
void split_outside(std::string_view text, At is_separator, std::vector<std::string_view>& pieces) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    char letter = at < text.size() ? text[at] : '\0';
    depth += (letter == '(' || letter == '[') - (letter == ')' || letter == ']');
    if (at < text.size() && (depth > 0 || !is_separator(letter))) continue;
    std::string_view piece = text.substr(begin, at - begin);
    while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
    while (!piece.empty() && piece.back() == ' ') piece.remove_suffix(1);
    if (!piece.empty()) pieces.push_back(piece);
    begin = at + 1;
  }
}

std::vector<std::int64_t> list_of(std::string_view text) {
  strip(text, "[", "]");
  std::vector<std::int64_t> values;
  for (std::string_view item : split_operands(text)) values.push_back(number(item));
  return values;
}

std::uint32_t bit_list(std::string_view text) {
  std::uint32_t mask = 0;
  unsigned bit = 0;
  for (std::int64_t value : list_of(text)) mask |= static_cast<std::uint32_t>(value & 1) << bit++;
  return mask;
}

Part part_of_name(std::string_view name) {
  static constexpr std::string_view kNames[] = {"DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"};
  for (std::size_t at = 0; at < std::size(kNames); ++at)
    if (kNames[at] == name) return static_cast<Part>(at);
  return Part::kDword;
}

using Note = void (*)(std::string_view, Modifiers&);

template <LaneMoves::Kind kind>
void moved_by(std::string_view value, Modifiers& modifiers) {
  modifiers.moves.kind = kind;
  modifiers.moves.amount = static_cast<std::uint8_t>(number(value));
}

template <LaneMoves::Kind kind>
void moved_in_order(std::string_view value, Modifiers& modifiers) {
  modifiers.moves.kind = kind;
  std::size_t at = 0;
  for (std::int64_t lane : list_of(value))
    if (at < 8) modifiers.moves.lanes[at++] = static_cast<std::uint8_t>(lane);
}

void broadcast_row(std::string_view value, Modifiers& modifiers) {
  modifiers.moves.kind = number(value) == 15 ? LaneMoves::kRowBroadcast15 : LaneMoves::kRowBroadcast31;
}

void nothing(std::string_view, Modifiers&) {}

const std::unordered_map<std::string_view, Note> kNotes = {
    {"offset", [](std::string_view value, Modifiers& modifiers) { modifiers.offset = number(value); }},
    {"offset0", [](std::string_view value, Modifiers& modifiers) { modifiers.offset0 = number(value); }},
    {"offset1", [](std::string_view value, Modifiers& modifiers) { modifiers.offset1 = number(value); }},
    {"op_sel", [](std::string_view value, Modifiers& modifiers) { modifiers.op_sel = bit_list(value); }},
    {"op_sel_hi", [](std::string_view value, Modifiers& modifiers) { modifiers.op_sel_hi = bit_list(value); }},
    {"neg_lo", [](std::string_view value, Modifiers& modifiers) { modifiers.neg_lo = bit_list(value); }},
    {"neg_hi", [](std::string_view value, Modifiers& modifiers) { modifiers.neg_hi = bit_list(value); }},
    {"clamp", [](std::string_view, Modifiers& modifiers) { modifiers.clamp = true; }},
    {"mul", [](std::string_view value, Modifiers& modifiers) { modifiers.output_scale = number(value) == 2 ? 1 : 2; }},
    {"div", [](std::string_view, Modifiers& modifiers) { modifiers.output_scale = 3; }},
    {"glc", [](std::string_view, Modifiers& modifiers) { modifiers.returns = true; }},
    {"sc0", [](std::string_view, Modifiers& modifiers) { modifiers.returns = true; }},
    {"offen", [](std::string_view, Modifiers& modifiers) { modifiers.offen = true; }},
    {"idxen", [](std::string_view, Modifiers& modifiers) { modifiers.idxen = true; }},
    {"lds", [](std::string_view, Modifiers& modifiers) { modifiers.to_lds = true; }},
    {"cbsz",
     [](std::string_view value, Modifiers& modifiers) { modifiers.cbsz = static_cast<uint8_t>(number(value)); }},
    {"abid",
     [](std::string_view value, Modifiers& modifiers) { modifiers.abid = static_cast<uint8_t>(number(value)); }},
    {"blgp",
     [](std::string_view value, Modifiers& modifiers) { modifiers.blgp = static_cast<uint8_t>(number(value)); }},
    {"neg", [](std::string_view value, Modifiers& modifiers) { modifiers.neg_lo = bit_list(value); }},
    {"quad_perm", moved_in_order<LaneMoves::kQuadPerm>},
    {"dpp8", moved_in_order<LaneMoves::kEight>},
    {"row_shl", moved_by<LaneMoves::kRowShiftLeft>},
    {"row_shr", moved_by<LaneMoves::kRowShiftRight>},
    {"row_ror", moved_by<LaneMoves::kRowRotateRight>},
    {"row_share", moved_by<LaneMoves::kRowShare>},
    {"row_newbcast", moved_by<LaneMoves::kRowNewBroadcast>},
    {"row_xmask", moved_by<LaneMoves::kRowXorMask>},
    {"wave_shl", moved_by<LaneMoves::kWaveShiftLeft>},
    {"wave_rol", moved_by<LaneMoves::kWaveRotateLeft>},
    {"wave_shr", moved_by<LaneMoves::kWaveShiftRight>},
    {"wave_ror", moved_by<LaneMoves::kWaveRotateRight>},
    {"row_mirror", moved_by<LaneMoves::kRowMirror>},
    {"row_half_mirror", moved_by<LaneMoves::kRowHalfMirror>},
    {"row_bcast", broadcast_row},
    {"row_mask", [](std::string_view value,
                    Modifiers& modifiers) { modifiers.moves.row_mask = static_cast<uint8_t>(number(value)); }},
    {"bank_mask", [](std::string_view value,
                     Modifiers& modifiers) { modifiers.moves.bank_mask = static_cast<uint8_t>(number(value)); }},
    // LLVM before 15 printed the same bit as bound_ctrl:0.
    {"bound_ctrl", [](std::string_view, Modifiers& modifiers) { modifiers.moves.zero_invalid = true; }},
    {"fi", [](std::string_view value, Modifiers& modifiers) { modifiers.moves.fetch_inactive = number(value) != 0; }},
    {"dst_sel", [](std::string_view value, Modifiers& modifiers) { modifiers.destination_part = part_of_name(value); }},
    {"src0_sel", [](std::string_view value, Modifiers& modifiers) { modifiers.source_parts[0] = part_of_name(value); }},
    {"src1_sel", [](std::string_view value, Modifiers& modifiers) { modifiers.source_parts[1] = part_of_name(value); }},
    {"dst_unused",
     [](std::string_view value, Modifiers& modifiers) {
       modifiers.unused = value == "UNUSED_PRESERVE" ? Unused::kPreserve
                          : value == "UNUSED_SEXT"   ? Unused::kSignExtend
                                                     : Unused::kPad;
     }},
    // Hints to caches, which are not modelled.
    {"slc", nothing},
    {"dlc", nothing},
    {"nt", nothing},
    {"sc1", nothing},
    {"scc", nothing},
};

}  // namespace

Operand operand_of(std::string_view text) {
  Operand operand;
  if (text == "off") {
    operand.kind = Operand::kOff;
    return operand;
  }
  if (parse_constant(text, operand)) return operand;
  bool is_negated = strip(text, "neg(", ")") || strip(text, "-", "");
  operand.negate = is_negated;
  operand.absolute = strip(text, "|", "|") || strip(text, "abs(", ")");
  operand.sign_extend = strip(text, "sext(", ")");
  if (!parse_registers(text, operand)) parse_constant(text, operand);
  return operand;
}

bool apply_modifier(std::string_view word, Modifiers& modifiers) {
  std::size_t colon = word.find(':');
  auto note = kNotes.find(word.substr(0, colon));
  if (note == kNotes.end()) return false;
  note->second(colon == std::string_view::npos ? std::string_view() : word.substr(colon + 1), modifiers);
  return true;
}

std::vector<std::string_view> split_operands(std::string_view text) {
  std::vector<std::string_view> pieces;
  split_outside(text, [](char letter) { return letter == ','; }, pieces);
  return pieces;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> pieces;
  split_outside(text, [](char letter) { return letter == ' '; }, pieces);
  return pieces;
}

}  // namespace rocm_perf::softgpu
