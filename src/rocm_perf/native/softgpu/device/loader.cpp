#include "softgpu/device/loader.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "softgpu/device/hook.h"
#include "softgpu/device/settings.h"

namespace rocm_perf::softgpu::device {
namespace {

using ReadLink = ssize_t(const char*, char*, size_t);

constexpr std::size_t kProgramAt = 5;  // in a command line of the loader, behind its options

std::string own_file() {
  static ReadLink* const next = next_function<ReadLink>("readlink");
  char path[PATH_MAX];
  ssize_t length = next("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

// Whether a file is a program that a loader starts: not a script, and not linked statically.
bool has_interpreter(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int number = 0; number < header.e_phnum; ++number) {
    Elf64_Phdr segment{};
    file.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (file && segment.p_type == PT_INTERP) return true;
  }
  return false;
}

std::string library_path() {
  const char* own = std::getenv("LD_LIBRARY_PATH");
  return settings().libraries + (own && *own ? std::string(":") + own : "");
}

}  // namespace

std::vector<std::string> loader_command(const std::string& program, char* const* argv) {
  const std::string& loader = settings().loader;
  char resolved[PATH_MAX];
  if (loader.empty() || !::realpath(program.c_str(), resolved) || !has_interpreter(resolved)) return {};
  std::vector<std::string> out{loader, "--argv0", argv && argv[0] ? argv[0] : program, "--library-path",
                               library_path()};
  out.push_back(resolved);
  for (char* const* argument = argv; argument && *argument; ++argument) {
    if (argument != argv) out.push_back(*argument);
  }
  return out;
}

std::string found_on_path(const char* name) {
  if (std::strchr(name, '/')) return name;
  const char* path = std::getenv("PATH");
  std::string folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t start = 0; start <= folders.size();) {
    std::size_t end = std::min(folders.find(':', start), folders.size());
    std::string candidate = (end > start ? folders.substr(start, end - start) : ".") + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    start = end + 1;
  }
  return name;
}

bool is_under_loader() { return !settings().loader.empty() && own_file() == settings().loader; }

std::string own_program() {
  if (!is_under_loader()) return own_file();
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string argument;
  for (std::size_t at = 0; std::getline(file, argument, '\0'); ++at) {
    if (at == kProgramAt) return argument;
  }
  return "";
}

}  // namespace rocm_perf::softgpu::device
