// The calls of the C library by which a program reaches a GPU: opening its files, asking its driver, mapping its
// memory.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "softgpu/device/hook.h"
#include "softgpu/device/kfd.h"
#include "softgpu/device/loader.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/paths.h"
#include "softgpu/device/steering.h"

namespace kfd = rocm_perf::softgpu::device;

namespace {

// The path to go on with, as long as this object lives.
class Redirected {
 public:
  explicit Redirected(const char* path) : given_(path), other_(kfd::described_path(path)) {}
  const char* path() const { return other_.empty() ? given_ : other_.c_str(); }

 private:
  const char* given_;
  std::string other_;
};

// Their types without the attributes of the C library, which a template cannot keep.
using Open = int(const char*, int, ...);
using OpenAt = int(int, const char*, int, ...);
using OpenStream = FILE*(const char*, const char*);
using OpenFolder = DIR*(const char*);
using Access = int(const char*, int);
using AccessAt = int(int, const char*, int, int);
using Stat = int(const char*, struct stat*);
using StatAt = int(int, const char*, struct stat*, int);
using ReadLink = ssize_t(const char*, char*, size_t);
using Call = int(int, unsigned long, ...);
using Map = void*(void*, size_t, int, int, int, off_t);

constexpr unsigned kDeviceMode = S_IFCHR | 0666;

mode_t mode_of(int flags, va_list arguments) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0; }

int open_path(Open* next, const char* path, int flags, mode_t mode) {
  if (kfd::is_device_path(path)) return kfd::memory().open();
  return next(Redirected(path).path(), flags, mode);
}

template <class Facts>
int device_facts(Facts* facts) {
  *facts = {};
  facts->st_mode = kDeviceMode;
  return 0;
}

}  // namespace

extern "C" {

HOOK int open(const char* path, int flags, ...) {
  static Open* const next = kfd::next_function<Open>("open");
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_path(next, path, flags, mode);
}

HOOK int open64(const char* path, int flags, ...) {
  static Open* const next = kfd::next_function<Open>("open64");
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_path(next, path, flags, mode);
}

HOOK int __open_2(const char* path, int flags) { return open(path, flags); }
HOOK int __open64_2(const char* path, int flags) { return open64(path, flags); }

HOOK int openat(int folder, const char* path, int flags, ...) {
  static OpenAt* const next = kfd::next_function<OpenAt>("openat");
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  if (kfd::is_device_path(path)) return kfd::memory().open();
  return next(folder, Redirected(path).path(), flags, mode);
}

HOOK int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return openat(folder, path, flags, mode);
}

HOOK FILE* fopen(const char* path, const char* mode) {
  static OpenStream* const next = kfd::next_function<OpenStream>("fopen");
  return next(Redirected(path).path(), mode);
}

HOOK FILE* fopen64(const char* path, const char* mode) {
  static OpenStream* const next = kfd::next_function<OpenStream>("fopen64");
  return next(Redirected(path).path(), mode);
}

HOOK DIR* opendir(const char* path) {
  static OpenFolder* const next = kfd::next_function<OpenFolder>("opendir");
  return next(Redirected(path).path());
}

HOOK int access(const char* path, int mode) {
  static Access* const next = kfd::next_function<Access>("access");
  return kfd::is_device_path(path) ? 0 : next(Redirected(path).path(), mode);
}

HOOK int faccessat(int folder, const char* path, int mode, int flags) {
  static AccessAt* const next = kfd::next_function<AccessAt>("faccessat");
  return kfd::is_device_path(path) ? 0 : next(folder, Redirected(path).path(), mode, flags);
}

HOOK int stat(const char* path, struct stat* facts) {
  static Stat* const next = kfd::next_function<Stat>("stat");
  return kfd::is_device_path(path) ? device_facts(facts) : next(Redirected(path).path(), facts);
}

HOOK int lstat(const char* path, struct stat* facts) {
  static Stat* const next = kfd::next_function<Stat>("lstat");
  return kfd::is_device_path(path) ? device_facts(facts) : next(Redirected(path).path(), facts);
}

HOOK int fstatat(int folder, const char* path, struct stat* facts, int flags) {
  static StatAt* const next = kfd::next_function<StatAt>("fstatat");
  return kfd::is_device_path(path) ? device_facts(facts) : next(folder, Redirected(path).path(), facts, flags);
}

// The same by their other names: on machines with 64 bits the two kinds of facts are one.
HOOK int stat64(const char* path, struct stat64* facts) { return stat(path, reinterpret_cast<struct stat*>(facts)); }
HOOK int lstat64(const char* path, struct stat64* facts) { return lstat(path, reinterpret_cast<struct stat*>(facts)); }
HOOK int fstatat64(int folder, const char* path, struct stat64* facts, int flags) {
  return fstatat(folder, path, reinterpret_cast<struct stat*>(facts), flags);
}

HOOK ssize_t readlink(const char* path, char* out, size_t size) {
  static ReadLink* const next = kfd::next_function<ReadLink>("readlink");
  if (!path || std::strcmp(path, "/proc/self/exe") != 0) return next(path, out, size);
  return static_cast<ssize_t>(kfd::own_program().copy(out, size));
}

HOOK int ioctl(int file, unsigned long request, ...) {
  static Call* const next = kfd::next_function<Call>("ioctl");
  va_list list;
  va_start(list, request);
  void* arguments = va_arg(list, void*);
  va_end(list);
  if (!kfd::is_driver_call(request) || !kfd::is_device(file)) return next(file, request, arguments);
  int error = kfd::driver_call(request, arguments);
  if (error) errno = error;
  return error ? -1 : 0;
}

HOOK void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  static Map* const next = kfd::next_function<Map>("mmap");
  // Memory that the host may not touch is still touched by kernels, and those run in this process.
  if (kfd::is_device(file)) protection |= PROT_READ | PROT_WRITE;
  void* mapped = next(address, size, protection, flags, file, offset);
  const bool is_reservation = protection == PROT_NONE && file == -1 && mapped != MAP_FAILED && !(flags & MAP_FIXED);
  if (!is_reservation || kfd::is_within_reach(mapped, size) || !kfd::is_in_use()) return mapped;
  munmap(mapped, size);
  return kfd::mapped_within_reach(
      size, [&](void* at) { return next(at, size, protection, flags | MAP_FIXED_NOREPLACE, file, offset); });
}

HOOK void* mmap64(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  return mmap(address, size, protection, flags, file, offset);
}
}
