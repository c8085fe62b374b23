#include "softgpu/device/disassembler.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "softgpu/device/report.h"

namespace rocm_perf::softgpu::device {
namespace {

constexpr const char kLibrary[] = "libLLVM.so.22.1";
constexpr std::size_t kLongestText = 512;

// The part of llvm-c/Disassembler.h that is used.
using Initialise = void();
using Create = void*(const char* triple, const char* cpu, void* data, int tag, void* operand_info, void* symbols);
using Disassemble = std::size_t(void* context, std::uint8_t* bytes, std::uint64_t size, std::uint64_t address,
                                char* out, std::size_t out_size);
using Dispose = void(void* context);

template <class Function>
Function* function(void* library, const char* name) {
  auto* found = reinterpret_cast<Function*>(::dlsym(library, name));
  if (!found) fail(std::string(kLibrary) + " has no " + name);
  return found;
}

class Llvm {
 public:
  Llvm() {
    void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(std::string("LLVM's disassembler cannot be loaded: ") + ::dlerror());
    for (const char* part : {"TargetInfo", "TargetMC", "Disassembler"}) {
      function<Initialise>(library, (std::string("LLVMInitializeAMDGPU") + part).c_str())();
    }
    create = function<Create>(library, "LLVMCreateDisasmCPU");
    disassemble = function<Disassemble>(library, "LLVMDisasmInstruction");
    dispose = function<Dispose>(library, "LLVMDisasmDispose");
  }
  Create* create;
  Disassemble* disassemble;
  Dispose* dispose;
};

void append_line(std::string& out, const char* text, std::uint64_t address, std::uint64_t size) {
  char number[32];
  std::snprintf(number, sizeof number, " // %012llX:", static_cast<unsigned long long>(address));
  out += '\t';
  out += text + std::strspn(text, "\t ");
  out += number;
  for (std::uint64_t at = 0; at < size; at += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(address + at), sizeof word);
    std::snprintf(number, sizeof number, " %08X", word);
    out += number;
  }
  out += '\n';
}

}  // namespace

std::string listing(std::uint64_t address, std::uint64_t size, const std::string& isa) {
  static const Llvm* const llvm = new Llvm;
  void* context = llvm->create("amdgcn-amd-amdhsa", isa.c_str(), nullptr, 0, nullptr, nullptr);
  if (!context) fail("LLVM's disassembler does not know " + isa);
  std::string out;
  char text[kLongestText];
  for (std::uint64_t at = 0; at + sizeof(std::uint32_t) <= size;) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(address + at);
    std::uint64_t length = llvm->disassemble(context, bytes, size - at, address + at, text, sizeof text);
    if (!length) std::strcpy(text, "<unknown>");
    append_line(out, text, address + at, length ? length : sizeof(std::uint32_t));
    at += length ? length : sizeof(std::uint32_t);
  }
  llvm->dispose(context);
  return out;
}

}  // namespace rocm_perf::softgpu::device
