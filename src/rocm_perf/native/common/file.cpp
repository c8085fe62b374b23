#include "common/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace rocm_perf {

File::File(const std::string& path, int flags)
    : path_(path), is_output_((flags & O_ACCMODE) != O_RDONLY), handle_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
  if (handle_ < 0) fail("cannot open", std::strerror(errno));
}

void File::write_at(const void* data, std::size_t size, std::uint64_t offset) {
  const char* from = static_cast<const char*>(data);
  while (size) {
    ssize_t done = ::pwrite(handle_, from, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("cannot write", std::strerror(errno));
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
    if (done < 0) fail("cannot read", std::strerror(errno));
    if (done == 0) fail("cannot read", "it ends too early");
    to += done;
    offset += static_cast<std::uint64_t>(done);
    size -= static_cast<std::size_t>(done);
  }
}

void File::resize(std::uint64_t size) {
  if (::ftruncate(handle_, static_cast<off_t>(size)) != 0) fail("cannot size", std::strerror(errno));
}

std::uint64_t File::size() const {
  struct stat facts{};
  if (::fstat(handle_, &facts) != 0) fail("cannot read", std::strerror(errno));
  return static_cast<std::uint64_t>(facts.st_size);
}

void File::fail(const char* what, const char* why) const {
  throw FileError(std::string(what) + " " + path_ + ": " + why, is_output_);
}

std::vector<char> whole(const std::string& path) {
  File file(path, O_RDONLY);
  std::vector<char> out(static_cast<std::size_t>(file.size()));
  file.read_at(out.data(), out.size(), 0);
  return out;
}

}  // namespace rocm_perf
