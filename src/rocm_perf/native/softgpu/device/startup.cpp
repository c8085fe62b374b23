// How programs start other programs, and what happens before their own first line.
#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "softgpu/device/hook.h"
#include "softgpu/device/loader.h"
#include "softgpu/device/settings.h"

namespace kfd = rocm_perf::softgpu::device;

namespace {

using Execute = int(const char*, char* const*, char* const*);
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                  char* const*);

// A command line as the system takes it: the one that was given, or the loader's in front of it.
class Command {
 public:
  Command(const char* path, char* const* argv) : path_(path), argv_(argv) {
    if (std::strcmp(path, "/proc/self/exe") == 0) path_ = kfd::own_program();
    words_ = kfd::loader_command(path_, argv);
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  const char* path() const { return words_.empty() ? path_.c_str() : words_[0].c_str(); }
  char* const* argv() const { return words_.empty() ? argv_ : pointers_.data(); }
  bool has_loader() const { return !words_.empty(); }

 private:
  std::string path_;
  char* const* argv_;
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

int execute(const Command& command, char* const* environment) {
  static Execute* const next = kfd::next_function<Execute>("execve");
  return next(command.path(), command.argv(), environment);
}

std::vector<char*> listed(const char* first, va_list rest) {
  std::vector<char*> out{const_cast<char*>(first)};
  while (out.back()) out.push_back(va_arg(rest, char*));
  return out;
}

// A program that was started without its loader, as the interpreter of a script is, starts itself again.
__attribute__((constructor)) void enter(int, char** argv, char**) {
  if (kfd::settings().loader.empty()) return;
  if (kfd::is_under_loader()) {
    std::string program = kfd::own_program();
    ::prctl(PR_SET_NAME, program.substr(program.rfind('/') + 1).c_str());
    return;
  }
  Command again("/proc/self/exe", argv);
  if (again.has_loader()) execute(again, environ);
}

}  // namespace

extern "C" {

HOOK int execve(const char* path, char* const* argv, char* const* environment) {
  return execute(Command(path, argv), environment);
}

HOOK int execv(const char* path, char* const* argv) { return execute(Command(path, argv), environ); }

HOOK int execvpe(const char* name, char* const* argv, char* const* environment) {
  return execute(Command(kfd::found_on_path(name).c_str(), argv), environment);
}

HOOK int execvp(const char* name, char* const* argv) { return execvpe(name, argv, environ); }

HOOK int execl(const char* path, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  auto argv = listed(first, rest);
  va_end(rest);
  return execv(path, argv.data());
}

HOOK int execlp(const char* name, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  auto argv = listed(first, rest);
  va_end(rest);
  return execvp(name, argv.data());
}

HOOK int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                     const posix_spawnattr_t* attributes, char* const* argv, char* const* environment) {
  static Spawn* const next = kfd::next_function<Spawn>("posix_spawn");
  Command command(path, argv);
  return next(child, command.path(), actions, attributes, command.argv(), environment);
}

HOOK int posix_spawnp(pid_t* child, const char* name, const posix_spawn_file_actions_t* actions,
                      const posix_spawnattr_t* attributes, char* const* argv, char* const* environment) {
  return posix_spawn(child, kfd::found_on_path(name).c_str(), actions, attributes, argv, environment);
}
}
