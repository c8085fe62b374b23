// A decoded instruction: what executes it, and its operands as the disassembler names them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocm_perf::softgpu {

struct Wave;
struct Instruction;
struct MatrixShape;
using Handler = void (*)(Wave&, const Instruction&);

// How an instruction takes an operand: it decides what a constant's bits are, and what a sign modifier changes.
enum class Type : std::uint8_t { kNone, kB32, kF32, kB64, kI64, kF64, kB16, kF16, kPacked16, kPackedF16, kPackedF32 };

// What a memory instruction moves for each lane.
struct Access {
  enum Half : std::uint8_t { kWhole, kLow, kHigh };
  std::uint8_t bytes = 4;    // in memory, of each of its parts
  std::uint8_t words = 1;    // registers
  bool is_signed = false;    // a narrow value, which is extended with its sign
  Half half = kWhole;        // of the register that it belongs to; the other is kept
  std::uint8_t parts = 1;    // two: at offset0 and offset1
  std::uint16_t stride = 1;  // bytes that offset0 and offset1 count
};

// What an atomic instruction leaves in memory; `compare` matters to compare-and-swap alone.
using Combine = std::uint64_t (*)(std::uint64_t old, std::uint64_t data, std::uint64_t compare);

struct Operand {
  enum Kind : std::uint8_t { kAbsent, kVector, kScalar, kConstant, kOff };
  Kind kind = kAbsent;
  std::uint16_t index = 0;  // of the first register
  std::uint8_t words = 1;   // registers
  bool is_float = false;    // a constant written as 1.0
  bool is_literal = false;  // a constant that follows the instruction, written as 0x10
  bool negate = false, absolute = false, sign_extend = false, high = false;
  std::uint64_t value = 0;  // of a constant: its bits, once the type is known
  double number = 0;        // of a constant written as 1.0
  bool is_modified() const { return negate || absolute || sign_extend || high; }
};

// DPP: which lane another lane's first source comes from.
struct LaneMoves {
  enum Kind : std::uint8_t {
    kNone,
    kQuadPerm,
    kRowShiftLeft,
    kRowShiftRight,
    kRowRotateRight,
    kWaveShiftLeft,
    kWaveRotateLeft,
    kWaveShiftRight,
    kWaveRotateRight,
    kRowMirror,
    kRowHalfMirror,
    kRowBroadcast15,
    kRowBroadcast31,
    kRowShare,
    kRowXorMask,
    kRowNewBroadcast,
    kEight
  };
  Kind kind = kNone;
  std::array<std::uint8_t, 8> lanes{};  // quad_perm, dpp8
  std::uint8_t amount = 0;
  std::uint8_t row_mask = 0xf, bank_mask = 0xf;
  bool zero_invalid = false;    // bound_ctrl
  bool fetch_inactive = false;  // fi
};

// SDWA: which part of a register an operand is.
enum class Part : std::uint8_t { kDword, kByte0, kByte1, kByte2, kByte3, kWord0, kWord1 };
enum class Unused : std::uint8_t { kPad, kSignExtend, kPreserve };

constexpr std::uint32_t kNotPrinted = 0xffffffff;  // all ones, or for mixed precision all zeros

struct Modifiers {
  std::int64_t offset = 0, offset0 = 0, offset1 = 0;
  std::uint32_t op_sel = 0, neg_lo = 0, neg_hi = 0;  // a bit for each source
  std::uint32_t op_sel_hi = kNotPrinted;
  std::uint8_t output_scale = 0;  // 1: times 2, 2: times 4, 3: divided by 2
  bool clamp = false, returns = false, offen = false, idxen = false, to_lds = false, is_sdwa = false;
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
  Part destination_part = Part::kDword;
  std::array<Part, 2> source_parts{};
  Unused unused = Unused::kPad;
  LaneMoves moves;
};

constexpr int kMostOperands = 6;

struct Instruction {
  Handler run = nullptr;
  std::uint64_t pc = 0;
  std::uint32_t size = 0, number = 0;
  std::uint32_t target = 0;  // the number of the instruction that a branch jumps to
  std::array<Operand, kMostOperands> operands;
  int operand_count = 0;
  Modifiers modifiers;
  bool is_plain = true;      // no lane moves, no parts, no clamp, no output scale
  bool keeps_high = false;   // of its register, where the result has 16 bits
  bool high_result = false;  // which has 16 bits and belongs into the upper half
  bool sets_exec = false;    // a comparison that writes EXEC
  Access access;
  Combine combine = nullptr;
  const MatrixShape* shape = nullptr;
  std::uint32_t word = 0;  // the first of its encoding
  std::string name;        // without the encoding's suffix
  std::string text;
  std::vector<Instruction> second;  // the other half of a dual instruction
};

struct Entry {  // how instructions of one name are executed
  Handler run;
  std::array<Type, kMostOperands> types{};  // by operand, the result's first
  Access access{};
  Combine combine = nullptr;
  const MatrixShape* shape = nullptr;
};

}  // namespace rocm_perf::softgpu
