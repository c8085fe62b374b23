// The stand-in's executables: symbols, sizes and kernel descriptors are read from real AMD code objects; what a kernel
// does is a C function of the same name, from the library that STANDIN_KERNELS names.
#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "standin.h"

namespace standin {
namespace {

struct Reader {
  std::string bytes;
};

struct Executable {
  std::uint64_t agent = 0;
  std::vector<std::unique_ptr<Symbol>> symbols;
  bool frozen = false;
};

const Executable& executable_of(const void* handle) { return *static_cast<const Executable*>(handle); }

char* variable(const void* executable, const char* name) {
  for (const auto& symbol : executable_of(executable).symbols)
    if (symbol->name == name) return reinterpret_cast<char*>(symbol->address);
  misuse("a kernel asked for a variable that its code object has not");
}

void (*function_of(const std::string& kernel))(const Launch&) {
  static void* library = ::dlopen(option("KERNELS").c_str(), RTLD_NOW);
  if (!library) misuse("STANDIN_KERNELS names no library");
  return reinterpret_cast<void (*)(const Launch&)>(::dlsym(library, kernel.c_str()));
}

// A code object may end in a mark: the name of another set of C functions that stand for its kernels.
std::string flavour(const std::string& bytes) {
  static const std::string kMark = "standin:";
  std::size_t at = bytes.rfind(kMark);
  return at == std::string::npos ? "" : bytes.substr(at + kMark.size());
}

template <class Type>
Type read(const std::string& bytes, std::uint64_t offset) {
  Type out{};
  if (offset + sizeof out <= bytes.size()) std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

// The kernel descriptor of the AMDGPU ABI begins with the sizes of LDS, scratch and kernarg.
std::unique_ptr<Symbol> described(const std::string& bytes, const std::string& name, const Elf64_Sym& entry,
                                  const Elf64_Shdr& section) {
  auto symbol = std::make_unique<Symbol>();
  symbol->name = name;
  symbol->kernel = name.size() > 3 && name.compare(name.size() - 3, 3, ".kd") == 0;
  symbol->size = static_cast<std::uint32_t>(entry.st_size);
  std::uint64_t offset = entry.st_value - section.sh_addr + section.sh_offset;
  if (symbol->kernel) {
    symbol->group_bytes = read<std::uint32_t>(bytes, offset);
    symbol->private_bytes = read<std::uint32_t>(bytes, offset + 4);
    symbol->kernarg_bytes = read<std::uint32_t>(bytes, offset + 8);
    symbol->function = function_of(flavour(bytes) + name.substr(0, name.size() - 3));
    symbol->address = reinterpret_cast<std::uint64_t>(symbol.get());
  } else {
    symbol->address = device_memory(symbol->size);
    if (section.sh_type != SHT_NOBITS)
      std::memcpy(reinterpret_cast<void*>(symbol->address), bytes.data() + offset, symbol->size);
  }
  return symbol;
}

bool load(Executable& executable, const std::string& bytes) {
  constexpr std::pair<const char*, unsigned> kArchs[] = {{"gfx90a", 0x3f}, {"gfx942", 0x4c}, {"gfx1100", 0x41}};
  auto header = read<Elf64_Ehdr>(bytes, 0);
  if (bytes.compare(0, SELFMAG, ELFMAG) != 0) return false;
  bool suits = false;
  for (const auto& arch : kArchs) suits |= gfx() == arch.first && (header.e_flags & 0xff) == arch.second;
  if (!suits) return false;
  auto section = [&](std::uint64_t index) {
    return read<Elf64_Shdr>(bytes, header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (std::uint64_t index = 0; index < header.e_shnum; ++index) {
    Elf64_Shdr table = section(index);
    if (table.sh_type != SHT_DYNSYM) continue;
    Elf64_Shdr strings = section(table.sh_link);
    for (std::uint64_t at = sizeof(Elf64_Sym); at < table.sh_size; at += sizeof(Elf64_Sym)) {
      auto entry = read<Elf64_Sym>(bytes, table.sh_offset + at);
      std::string name = bytes.c_str() + strings.sh_offset + entry.st_name;
      if (ELF64_ST_TYPE(entry.st_info) != STT_OBJECT) continue;
      executable.symbols.push_back(described(bytes, name, entry, section(entry.st_shndx)));
      executable.symbols.back()->executable = &executable;
    }
  }
  return true;
}

hsa_status_t symbol_info(hsa_executable_symbol_t handle, hsa_executable_symbol_info_t what, void* out) {
  const auto& symbol = *reinterpret_cast<const Symbol*>(handle.handle);
  auto put = [&](auto value) {
    std::memcpy(out, &value, sizeof value);
    return HSA_STATUS_SUCCESS;
  };
  switch (what) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
      return put(symbol.kernel ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE);
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
      return put(static_cast<std::uint32_t>(symbol.name.size()));
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
      std::memcpy(out, symbol.name.data(), symbol.name.size());
      return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
      return put(symbol.address);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
      return put(symbol.size);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
      return put(symbol.kernarg_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
      return put(symbol.group_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
      return put(symbol.private_bytes);
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

hsa_executable_symbol_t handle_of(const Symbol& symbol) { return {reinterpret_cast<std::uint64_t>(&symbol)}; }
Executable& at(hsa_executable_t handle) { return *reinterpret_cast<Executable*>(handle.handle); }

}  // namespace

void run(const hsa_kernel_dispatch_packet_t& packet) {
  const auto& symbol = *reinterpret_cast<const Symbol*>(packet.kernel_object);
  if (!symbol.function) misuse(("no C function stands for " + symbol.name).c_str());
  symbol.function({static_cast<const char*>(packet.kernarg_address),
                   {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z},
                   {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z},
                   packet.group_segment_size,
                   packet.private_segment_size,
                   symbol.executable,
                   variable});
}

void add_code_calls(CoreApiTable& core) {
  core.hsa_code_object_reader_create_from_memory_fn = [](const void* data, std::size_t size,
                                                         hsa_code_object_reader_t* out) {
    *out = {reinterpret_cast<std::uint64_t>(new Reader{{static_cast<const char*>(data), size}})};
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_code_object_reader_create_from_file_fn = [](hsa_file_t file, hsa_code_object_reader_t* out) {
    struct stat facts{};
    ::fstat(file, &facts);
    std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
    if (::pread(file, bytes.data(), bytes.size(), 0) < 0) return HSA_STATUS_ERROR_INVALID_FILE;
    *out = {reinterpret_cast<std::uint64_t>(new Reader{bytes})};
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_code_object_reader_destroy_fn = [](hsa_code_object_reader_t reader) {
    delete reinterpret_cast<Reader*>(reader.handle);
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_executable_create_alt_fn = [](hsa_profile_t, hsa_default_float_rounding_mode_t, const char*,
                                         hsa_executable_t* out) {
    *out = {reinterpret_cast<std::uint64_t>(new Executable)};
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_executable_load_agent_code_object_fn = [](hsa_executable_t executable, hsa_agent_t agent,
                                                     hsa_code_object_reader_t reader, const char*,
                                                     hsa_loaded_code_object_t*) {
    at(executable).agent = agent.handle;
    bool loaded = load(at(executable), reinterpret_cast<Reader*>(reader.handle)->bytes);
    return loaded ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  };
  core.hsa_executable_freeze_fn = [](hsa_executable_t executable, const char*) {
    at(executable).frozen = true;
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_executable_destroy_fn = [](hsa_executable_t executable) {
    delete &at(executable);
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_executable_get_symbol_by_name_fn = [](hsa_executable_t executable, const char* name, const hsa_agent_t*,
                                                 hsa_executable_symbol_t* out) {
    for (const auto& symbol : at(executable).symbols) {
      if (symbol->name != name) continue;
      *out = handle_of(*symbol);
      return HSA_STATUS_SUCCESS;
    }
    return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
  };
  core.hsa_executable_symbol_get_info_fn = symbol_info;
  core.hsa_executable_iterate_agent_symbols_fn =
      [](hsa_executable_t executable, hsa_agent_t agent,
         hsa_status_t (*with)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*), void* data) {
        if (!at(executable).frozen) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
        for (const auto& symbol : at(executable).symbols)
          if (agent.handle == at(executable).agent) with(executable, agent, handle_of(*symbol), data);
        return HSA_STATUS_SUCCESS;
      };
}

}  // namespace standin
