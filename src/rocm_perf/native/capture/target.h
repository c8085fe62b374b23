// Which dispatch to capture, and what was seen on the way to it. Deciding costs a hash lookup a launch once a name is
// known.
#pragma once

#include <regex.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/environment.h"
#include "common/text.h"

namespace rocm_perf {

// A regular expression of the C library. Names of templates run to thousands of characters: std::regex recurses once
// for each, and takes seconds over `.*`.
class Pattern {
 public:
  Pattern(const std::string& text, bool ignore_case);
  ~Pattern() { ::regfree(&compiled_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  bool found_in(const std::string& name) const { return ::regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t compiled_{};
};

// What a launch looks like from outside: sizes of its grid and workgroup, and of its shared memory.
using Shape = std::array<std::uint64_t, 7>;

class Target {
 public:
  Target();

  // Counts the launch; true for the one to capture. `runs` is asked of a matching launch only: whether it is executed
  // now (and not merely recorded into a graph).
  bool meets(const char* symbol, const Shape& shape, const std::function<bool()>& runs = [] { return true; });

  // Whether a kernel of that name would be captured.
  bool matches(const std::string& symbol) const;

  std::uint64_t launches() const;
  std::uint64_t matched() const;

  // {"name": count, ...} of every kernel that was launched
  std::string names_seen() const;

  // [number, ...] of the first matching launch of each shape
  std::string shapes_seen() const;

 private:
  struct Seen {
    std::uint64_t count = 0;
    bool matches = false;
  };

  Seen& seen_of(const char* symbol);

  Pattern pattern_;
  std::uint64_t wanted_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Seen> by_name_;
  // A name's memory may be reused for another kernel's name, so the text is compared too.
  std::unordered_map<const void*, std::pair<std::string, Seen*>> by_address_;
  std::map<Shape, std::uint64_t> first_of_shape_;
  std::uint64_t launches_ = 0;
  std::uint64_t matched_ = 0;
  bool done_ = false;
};

}  // namespace rocm_perf
