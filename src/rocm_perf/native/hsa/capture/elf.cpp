#include "hsa/capture/elf.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace rocm_perf {

std::string without_kd(const std::string& name) {
  bool descriptor = name.size() > 3 && name.compare(name.size() - 3, 3, ".kd") == 0;
  return descriptor ? name.substr(0, name.size() - 3) : name;
}

std::vector<std::string> names_of(const char* data, std::size_t size) {
  std::vector<std::string> out;
  auto within = [&](std::uint64_t offset, std::uint64_t length) { return offset <= size && length <= size - offset; };
  Elf64_Ehdr header;
  if (size < sizeof header || std::memcmp(data, ELFMAG, SELFMAG) != 0 || data[EI_CLASS] != ELFCLASS64) return out;
  std::memcpy(&header, data, sizeof header);
  if (!within(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr))) return out;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), data + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    if (!within(section.sh_offset, section.sh_size) || !within(strings.sh_offset, strings.sh_size)) return out;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, data + section.sh_offset + at, sizeof symbol);
      if (symbol.st_name >= strings.sh_size) continue;
      const char* text = data + strings.sh_offset + symbol.st_name;
      out.emplace_back(text, ::strnlen(text, strings.sh_size - symbol.st_name));
    }
  }
  return out;
}

std::vector<std::string> kernels_of(const char* data, std::size_t size) {
  std::vector<std::string> out;
  for (const std::string& name : names_of(data, size))
    if (name != without_kd(name)) out.push_back(without_kd(name));
  return out;
}

}  // namespace rocm_perf
