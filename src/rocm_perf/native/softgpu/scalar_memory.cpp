#include "softgpu/registry.h"
#include "softgpu/scalar.h"

namespace rocm_perf::softgpu {
namespace {

uint64_t offset_of(const Wave& wave, const Instruction& instruction) {
  uint64_t offset = static_cast<uint64_t>(instruction.modifiers.offset);
  if (instruction.operand_count < 3) return offset;
  const Operand& operand = instruction.operands[2];
  if (operand.kind == Operand::kConstant) return offset + operand.value;
  return offset + scalar_source<uint32_t>(wave, operand);
}

void note(Wave& wave, const Instruction& instruction, uint64_t address, uint64_t size) {
  Count* count = wave.count(instruction);
  if (!count) return;
  uint64_t last = address + size - 1;
  count->bytes += size;
  count->lines_64 += last / 64 - address / 64 + 1;
  count->lines_128 += last / 128 - address / 128 + 1;
}

void load(Wave& wave, const Instruction& instruction) {
  uint64_t base = scalar_source<uint64_t>(wave, instruction.operands[1]);
  uint64_t address = (base + offset_of(wave, instruction)) & ~uint64_t{3};
  uint64_t size = uint64_t{4} * instruction.access.words;
  note(wave, instruction, address, size);
  uint32_t words[16];
  std::memcpy(words, wave.memory->at(address, size, false), size);
  for (int at = 0; at < instruction.access.words; ++at) wave.set_scalar(instruction.operands[0].index + at, words[at]);
}

// Through a buffer's descriptor: what lies beyond its end reads as 0.
void load_from_buffer(Wave& wave, const Instruction& instruction) {
  int descriptor = instruction.operands[1].index;
  uint64_t base = wave.scalar_64(descriptor) & 0xffffffffffffu;
  uint32_t stride = wave.scalars[descriptor + 1] >> 16 & 0x3fffu;
  uint64_t limit = uint64_t{wave.scalars[descriptor + 2]} * (stride ? stride : 1);
  uint64_t offset = offset_of(wave, instruction) & ~uint64_t{3};
  note(wave, instruction, base + offset, uint64_t{4} * instruction.access.words);
  for (int at = 0; at < instruction.access.words; ++at, offset += 4) {
    uint32_t word = 0;
    if (offset + 4 <= limit) std::memcpy(&word, wave.memory->at(base + offset, 4, false), 4);
    wave.set_scalar(instruction.operands[0].index + at, word);
  }
}

}  // namespace

Table scalar_memory() {
  Table table;
  const std::pair<const char*, const char*> names[] = {
      {"dword", "b32"}, {"dwordx2", "b64"}, {"dwordx4", "b128"}, {"dwordx8", "b256"}, {"dwordx16", "b512"}};
  std::uint8_t words = 1;
  for (const auto& [old_name, new_name] : names) {
    Access access{.words = words};
    for (const char* name : {old_name, new_name}) {
      table.emplace_back(std::string("s_load_") + name, Entry{load, {Type::kB32, Type::kB64, Type::kI64}, access});
      table.emplace_back(std::string("s_buffer_load_") + name,
                         Entry{load_from_buffer, {Type::kB32, Type::kB64, Type::kI64}, access});
    }
    words = static_cast<std::uint8_t>(words * 2);
  }
  return table;
}

}  // namespace rocm_perf::softgpu
