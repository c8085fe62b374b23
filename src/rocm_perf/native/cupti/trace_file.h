// A file that grows: bytes are gathered and written in large pieces, so that a killed process leaves all but the last.
#pragma once

#include <string>

namespace rocm_perf {

class TraceFile {
 public:
  ~TraceFile();
  bool open(const std::string& path);  // makes its folders; never overwrites: name.json, name-2.json, ...
  void flush();                        // what was gathered reaches the system
  void close();
  bool is_open() const { return descriptor_ >= 0; }
  const std::string& path() const { return path_; }
  const std::string& error() const { return error_; }  // why no more is written

  std::string text;  // what waits to be written

 private:
  void fail(const char* what);

  int descriptor_ = -1;
  std::string path_;
  std::string error_;
};

}  // namespace rocm_perf
