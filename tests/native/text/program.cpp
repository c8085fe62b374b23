// Prints what a function of common/text.h makes of an argument.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "common/text.h"

int main(int count, char** argv) {
  using namespace rocm_perf;
  const std::map<std::string, std::string (*)(const std::string&)> functions = {
      {"demangled", demangled},
      {"quoted", [](const std::string& text) { return quoted(text); }},
      {"hex", [](const std::string& text) { return hex(std::strtoull(text.c_str(), nullptr, 10)); }},
      {"quoted_hex", [](const std::string& text) { return quoted_hex(std::strtoull(text.c_str(), nullptr, 10)); }},
      {"microseconds",
       [](const std::string& text) {
         std::string out;
         append_microseconds(out, std::strtoll(text.c_str(), nullptr, 10));
         return out;
       }},
  };
  if (count != 3) return 2;
  std::fputs(functions.at(argv[1])(argv[2]).c_str(), stdout);
}
