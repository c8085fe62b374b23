#include "cupti/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace rocm_perf {
namespace {

std::string numbered(const std::string& path, int number) {
  if (number == 1) return path;
  const std::size_t name = path.rfind('/') + 1;
  const std::size_t dot = path.find('.', name);
  const std::size_t end = dot == std::string::npos ? path.size() : dot;
  return path.substr(0, end) + "-" + std::to_string(number) + path.substr(end);
}

}  // namespace

TraceFile::~TraceFile() { close(); }

bool TraceFile::open(const std::string& path) {
  std::error_code ignored;  // opening the file tells what is wrong
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  for (int number = 1; number < 1000 && descriptor_ < 0; ++number) {
    path_ = numbered(path, number);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) fail("cannot be made");
  return is_open();
}

void TraceFile::flush() {
  std::size_t done = 0;
  while (is_open() && done < text.size()) {
    const ssize_t count = ::write(descriptor_, text.data() + done, text.size() - done);
    if (count >= 0)
      done += static_cast<std::size_t>(count);
    else if (errno != EINTR)
      fail("cannot be written");
  }
  text.clear();
}

void TraceFile::close() {
  flush();
  if (is_open()) ::close(descriptor_);
  descriptor_ = -1;
}

void TraceFile::fail(const char* what) {
  error_ = path_ + " " + what + ": " + std::strerror(errno);
  if (is_open()) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace rocm_perf
