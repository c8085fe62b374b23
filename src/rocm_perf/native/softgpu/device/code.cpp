#include "softgpu/device/code.h"

#include <elf.h>

#include <cstring>
#include <vector>

#include "softgpu/device/memory.h"
#include "softgpu/device/report.h"

namespace rocm_perf::softgpu::device {
namespace {

template <class Type>
Type at(std::uint64_t address) {
  Type out;
  std::memcpy(&out, reinterpret_cast<const void*>(address), sizeof out);
  return out;
}

// The segments of the code object that lies at the start of this memory; none where there is no code object.
std::vector<Elf64_Phdr> segments(const Range& memory) {
  if (memory.size < sizeof(Elf64_Ehdr)) return {};
  auto header = at<Elf64_Ehdr>(memory.start);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  if (header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr) > memory.size) return {};
  std::vector<Elf64_Phdr> out;
  for (unsigned number = 0; number < header.e_phnum; ++number) {
    out.push_back(at<Elf64_Phdr>(memory.start + header.e_phoff + number * sizeof(Elf64_Phdr)));
  }
  return out;
}

Range executable_segment(const Range& memory, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments(memory)) {
    Range range{memory.start + segment.p_vaddr, segment.p_memsz};
    bool is_code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X);
    if (is_code && address >= range.start && address - range.start < range.size) return range;
  }
  return {};
}

// The tables of names that the code object carries for its loader.
struct Symbols {
  std::uint64_t table = 0, names = 0, names_size = 0;
};

Symbols symbols_of(const Range& memory) {
  Symbols out;
  for (const Elf64_Phdr& segment : segments(memory)) {
    if (segment.p_type != PT_DYNAMIC || segment.p_vaddr + segment.p_memsz > memory.size) continue;
    for (std::uint64_t offset = 0; offset + sizeof(Elf64_Dyn) <= segment.p_memsz; offset += sizeof(Elf64_Dyn)) {
      auto entry = at<Elf64_Dyn>(memory.start + segment.p_vaddr + offset);
      if (entry.d_tag == DT_SYMTAB) out.table = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRTAB) out.names = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) out.names_size = entry.d_un.d_val;
    }
  }
  return out;
}

}  // namespace

Range code_around(std::uint64_t address) {
  Range around = memory().range_at(address);
  if (!around.size) fail("a kernel's code at " + hexadecimal(address) + " is not in the GPU's memory");
  Range segment = executable_segment(around, address);
  return segment.size ? segment : Range{address, around.start + around.size - address};
}

std::string kernel_name(std::uint64_t descriptor) {
  Range around = memory().range_at(descriptor);
  Symbols symbols = symbols_of(around);
  bool is_inside = symbols.table < symbols.names && symbols.names + symbols.names_size <= around.size;
  if (!symbols.table || !is_inside) return hexadecimal(descriptor);
  // The names follow the table, which does not say how long it is.
  for (std::uint64_t offset = symbols.table; offset + sizeof(Elf64_Sym) <= symbols.names; offset += sizeof(Elf64_Sym)) {
    auto symbol = at<Elf64_Sym>(around.start + offset);
    if (symbol.st_value != descriptor - around.start || symbol.st_name >= symbols.names_size) continue;
    const char* name = reinterpret_cast<const char*>(around.start + symbols.names + symbol.st_name);
    std::string text(name, ::strnlen(name, symbols.names_size - symbol.st_name));
    return text.substr(0, text.rfind(".kd"));
  }
  return hexadecimal(descriptor);
}

}  // namespace rocm_perf::softgpu::device
