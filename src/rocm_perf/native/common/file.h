// A file that is read and written at offsets; what fails is thrown, with the file's name.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rocm_perf {

class FileError : public std::runtime_error {
 public:
  FileError(const std::string& what, bool is_output) : std::runtime_error(what), is_output(is_output) {}
  bool is_output;  // of a file to be written; else of one to be read
};

class File {
 public:
  File(const std::string& path, int flags);
  ~File() { ::close(handle_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write_at(const void* data, std::size_t size, std::uint64_t offset);
  void read_at(void* data, std::size_t size, std::uint64_t offset);
  void resize(std::uint64_t size);
  std::uint64_t size() const;

 private:
  [[noreturn]] void fail(const char* what, const char* why) const;

  std::string path_;
  bool is_output_;
  int handle_;
};

std::vector<char> whole(const std::string& path);  // the contents of a file

}  // namespace rocm_perf
