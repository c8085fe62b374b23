// What a cubin (an ELF file) defines: its kernels and its variables.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rocm_perf {

struct Variable {
  std::string name;
  std::uint64_t size;
};

class Cubin {
 public:
  Cubin(const char* data, std::size_t size);

  const std::vector<char>& bytes() const { return bytes_; }

  // Kernels stand in sections of their own, `.text.NAME`.
  std::vector<std::string> kernels() const;

  bool defines(const std::string& kernel) const;

  // `__device__` and `__constant__` variables.
  std::vector<Variable> variables() const;

 private:
  bool holds(std::uint64_t at, std::uint64_t size) const { return at <= bytes_.size() && size <= bytes_.size() - at; }

  std::string text(std::uint64_t at) const;
  std::string section_name(const Elf64_Shdr& section) const;

  std::vector<char> bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace rocm_perf
