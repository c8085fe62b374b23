// Which kernel a dispatch packet means, and which code object it came from: watched as executables are loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/draft.h"
#include "capture/target.h"
#include "hsa/api.h"
#include "hsa/capture/elf.h"

namespace rocm_perf {

using Code = std::shared_ptr<const std::string>;

struct Kernel {
  std::string symbol;  // mangled, without .kd
  hsa_executable_t executable{};
  hsa_agent_t agent{};
  Code code;  // null: it was loaded in a way that is not watched, or cannot match
  std::uint32_t kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;
};

struct Variable {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

class Kernels {
 public:
  Kernels(const Api& api, const Target& target) : api_(api), target_(target) {}

  void read_from_memory(hsa_code_object_reader_t reader, const void* data, std::size_t size);
  void read_from_file(hsa_code_object_reader_t reader, int file);
  void forget_reader(hsa_code_object_reader_t reader);
  void loaded(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader);
  void frozen(hsa_executable_t executable);
  void destroyed(hsa_executable_t executable);
  const Kernel* find(std::uint64_t kernel_object) const;

  // The variables (__device__, __constant__) of the kernel's code object; an executable may hold others too.
  std::vector<Variable> variables_of(const Kernel& kernel) const;

 private:
  struct Reader {
    const char* data;  // as long as the reader lives
    std::size_t size;
    Code owned;
  };
  struct Loaded {
    hsa_agent_t agent;
    std::vector<std::string> kernels;
    Code code;
  };
  struct Walk {
    Kernels* self;
    const std::vector<Loaded>* parts;
    std::vector<std::pair<std::uint64_t, std::unique_ptr<Kernel>>> found;
  };
  struct VariableWalk {
    const Kernels* self;
    std::vector<std::string> own;
    std::vector<Variable> found;
  };

  static hsa_status_t on_kernel(hsa_executable_t executable, hsa_agent_t agent, hsa_executable_symbol_t symbol,
                                void* data);

  static hsa_status_t on_variable(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* data);
  hsa_symbol_kind_t kind(hsa_executable_symbol_t symbol) const;
  std::string name(hsa_executable_symbol_t symbol) const;

  const Api& api_;
  const Target& target_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uint64_t, Reader> readers_;
  std::unordered_map<std::uint64_t, std::vector<Loaded>> executables_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Kernel>> by_object_;
};

}  // namespace rocm_perf
