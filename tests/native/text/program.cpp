// Prints what a function of common/text.h makes of an argument.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "common/mangling.h"
#include "common/text.h"

int main(int count, char** argv) {
  using namespace rocm_perf;
  const std::map<std::string, std::string (*)(const std::string&)> functions = {
      {"demangled", demangled},
      {"unfolds_within",
       [](const std::string& text) {
         const std::size_t space = text.find(' ');
         return std::string(unfolds_within(text.substr(space + 1), std::stoll(text)) ? "yes" : "no");
       }},
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
