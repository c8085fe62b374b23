#include "common/file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rocm_perf {

File::File(const std::string& path, int flags) : path_(path), handle_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
  if (handle_ < 0) fail("cannot open");
}

void File::write_at(const void* data, std::size_t size, std::uint64_t offset) {
  const char* from = static_cast<const char*>(data);
  while (size) {
    ssize_t done = ::pwrite(handle_, from, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("cannot write");
    from += done;
    offset += static_cast<std::uint64_t>(done);
    size -= static_cast<std::size_t>(done);
  }
}

void File::read_at(void* data, std::size_t size, std::uint64_t offset) {
  char* to = static_cast<char*>(data);
  while (size) {
    ssize_t done = ::pread(handle_, to, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("cannot read");
    to += done;
    offset += static_cast<std::uint64_t>(done);
    size -= static_cast<std::size_t>(done);
  }
}

void File::resize(std::uint64_t size) {
  if (::ftruncate(handle_, static_cast<off_t>(size)) != 0) fail("cannot size");
}

void File::fail(const char* what) {
  throw std::runtime_error(std::string(what) + " " + path_ + ": " + std::strerror(errno));
}

}  // namespace rocm_perf
