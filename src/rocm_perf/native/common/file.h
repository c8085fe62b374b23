// A file that is read and written at offsets; what fails is thrown, with the file's name.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

namespace rocm_perf {

class File {
 public:
  File(const std::string& path, int flags);
  ~File() { ::close(handle_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void write_at(const void* data, std::size_t size, std::uint64_t offset);
  void read_at(void* data, std::size_t size, std::uint64_t offset);
  void resize(std::uint64_t size);

 private:
  [[noreturn]] void fail(const char* what);

  std::string path_;
  int handle_;
};

}  // namespace rocm_perf
