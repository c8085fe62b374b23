// A recording on disk: blocks that are whole or not there, so that a killed process leaves all but the last. Its layout
// is described in docs/formats.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocm_perf {

class BlockFile {
 public:
  ~BlockFile();
  bool open(const std::string& path);  // makes its folders; never overwrites: name.rptrace, name-2.rptrace, ...
  void add(std::string_view content);  // a block; its first character says what it is
  void flush();                        // what was gathered reaches the system
  void close();
  bool is_open() const { return descriptor_ >= 0; }
  std::uint64_t size() const { return written_ + waiting_.size(); }
  const std::string& path() const { return path_; }
  const std::string& error() const { return error_; }  // why no more is written

 private:
  void fail(const char* what);

  int descriptor_ = -1;
  std::string path_;
  std::string waiting_;
  std::uint64_t written_ = 0;
  std::string error_;
};

}  // namespace rocm_perf
