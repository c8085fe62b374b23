#include "cupti/process.h"

#include <unistd.h>

#include <fstream>
#include <iterator>

#include "common/environment.h"

namespace rocm_perf {
namespace {

std::string rank_of_launcher() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const std::string value = environment(name);
    const bool number =
        !value.empty() && value.size() < 10 && value.find_first_not_of("0123456789") == std::string::npos;
    if (number) return value;
  }
  return "";
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!words.empty() && words.back() == '\0') words.pop_back();
  for (char& letter : words)
    if (letter == '\0') letter = ' ';
  return words;
}

// A value that becomes part of a file's name.
std::string harmless(std::string value) {
  for (char& letter : value)
    if (letter == '/' || letter == '\0') letter = '_';
  return value;
}

std::string value_of(const std::string& key, const Process& process, bool& known) {
  known = true;
  if (key == "hostname") return process.host;
  if (key == "pid") return std::to_string(process.pid);
  if (key == "rank") return process.rank;
  if (key.size() > 5 && key.compare(0, 4, "env{") == 0 && key.back() == '}') {
    const std::string name = key.substr(4, key.size() - 5);
    return name == "RANK" ? process.rank : environment(name.c_str());
  }
  known = false;
  return "";
}

}  // namespace

Process this_process() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return {getpid(), host, rank_of_launcher(), command_line()};
}

std::string expanded(const std::string& pattern, const Process& process) {
  std::string name;
  std::size_t at = 0;
  while (at < pattern.size()) {
    const std::size_t end = pattern[at] == '%' ? pattern.find('%', at + 1) : std::string::npos;
    bool known = false;
    const std::string value =
        end == std::string::npos ? "" : value_of(pattern.substr(at + 1, end - at - 1), process, known);
    name += known ? harmless(value) : pattern.substr(at, 1);
    at = known ? end + 1 : at + 1;
  }
  return name;
}

}  // namespace rocm_perf
