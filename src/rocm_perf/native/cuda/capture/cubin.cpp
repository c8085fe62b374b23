#include "cuda/capture/cubin.h"

#include <cstring>

namespace rocm_perf {

Cubin::Cubin(const char* data, std::size_t size) : bytes_(data, data + size) {
  if (bytes_.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) return;
  std::memcpy(&header_, bytes_.data(), sizeof header_);
  for (unsigned index = 0; index < header_.e_shnum; ++index) {
    std::uint64_t at = header_.e_shoff + std::uint64_t{index} * header_.e_shentsize;
    if (!holds(at, sizeof(Elf64_Shdr))) return;
    Elf64_Shdr section;
    std::memcpy(&section, bytes_.data() + at, sizeof section);
    sections_.push_back(section);
  }
}

std::vector<std::string> Cubin::kernels() const {
  std::vector<std::string> out;
  for (const Elf64_Shdr& section : sections_) {
    std::string name = section_name(section);
    if (name.rfind(".text.", 0) == 0) out.push_back(name.substr(6));
  }
  return out;
}

bool Cubin::defines(const std::string& kernel) const {
  for (const Elf64_Shdr& section : sections_)
    if (section_name(section) == ".text." + kernel) return true;
  return false;
}

std::vector<Variable> Cubin::variables() const {
  std::vector<Variable> out;
  for (const Elf64_Shdr& table : sections_) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections_.size()) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      if (!holds(table.sh_offset + at, sizeof(Elf64_Sym))) break;
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes_.data() + table.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx >= sections_.size()) continue;
      std::string section = section_name(sections_[symbol.st_shndx]);
      if (section.rfind(".nv.global", 0) != 0 && section != ".nv.constant3") continue;
      out.push_back({text(sections_[table.sh_link].sh_offset + symbol.st_name), symbol.st_size});
    }
  }
  return out;
}

std::string Cubin::text(std::uint64_t at) const {
  if (at >= bytes_.size()) return "";
  return std::string(bytes_.data() + at, ::strnlen(bytes_.data() + at, bytes_.size() - at));
}

std::string Cubin::section_name(const Elf64_Shdr& section) const {
  if (header_.e_shstrndx >= sections_.size()) return "";
  return text(sections_[header_.e_shstrndx].sh_offset + section.sh_name);
}

}  // namespace rocm_perf
