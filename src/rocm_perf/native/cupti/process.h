// Who is being recorded: this process, its place among the ranks, and the name of its file.
#pragma once

#include <string>

namespace rocm_perf {

struct Process {
  long pid = 0;
  std::string host;
  std::string rank;     // digits, or empty without one
  std::string command;  // as it was typed, words separated by blanks
};

Process this_process();

// %hostname%, %pid%, %rank% and %env{NAME}% filled in, as rocprofv3 does.
std::string expanded(const std::string& pattern, const Process& process);

}  // namespace rocm_perf
