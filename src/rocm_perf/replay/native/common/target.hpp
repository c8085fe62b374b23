// Which dispatch to capture, and what was seen on the way to it. Deciding costs a hash lookup a launch once a name is
// known.
#pragma once
#include <regex.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "text.hpp"

namespace rocm_perf {

// A regular expression of the C library. Names of templates run to thousands of characters: std::regex recurses once
// for each, and takes seconds over `.*`.
class Pattern {
 public:
  Pattern(const std::string& text, bool ignore_case) {
    int failed = ::regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB | (ignore_case ? REG_ICASE : 0));
    if (failed == 0) return;
    char why[128] = "";
    ::regerror(failed, &compiled_, why, sizeof why);
    throw std::runtime_error("the kernel's pattern " + text + ": " + why);
  }
  ~Pattern() { ::regfree(&compiled_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  bool found_in(const std::string& name) const { return ::regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t compiled_{};
};

class Target {
 public:
  Target()
      : pattern_(environment("ROCM_PERF_CAPTURE_KERNEL", ".*"), switched_on("ROCM_PERF_CAPTURE_IGNORE_CASE")),
        wanted_(std::strtoull(environment("ROCM_PERF_CAPTURE_DISPATCH", "1").c_str(), nullptr, 10)) {}

  // Counts the launch; true for the one to capture. `runs` is asked of a matching launch only: whether it is executed
  // now (and not merely recorded into a graph).
  bool meets(const char* symbol, const std::function<bool()>& runs = [] { return true; }) {
    std::lock_guard<std::mutex> hold(mutex_);
    ++launches_;
    Seen& seen = seen_of(symbol);
    ++seen.count;
    if (!seen.matches || done_ || !runs()) return false;
    if (++matched_ != wanted_) return false;
    done_ = true;
    return true;
  }

  // Whether a kernel of that name would be captured.
  bool matches(const std::string& symbol) const {
    return pattern_.found_in(symbol) || pattern_.found_in(demangled(symbol));
  }

  std::uint64_t launches() const {
    std::lock_guard<std::mutex> hold(mutex_);
    return launches_;
  }
  std::uint64_t matched() const {
    std::lock_guard<std::mutex> hold(mutex_);
    return matched_;
  }

  // {"name": count, ...} of every kernel that was launched
  std::string names_seen() const {
    std::lock_guard<std::mutex> hold(mutex_);
    std::map<std::string, std::uint64_t> sorted;
    for (const auto& entry : by_name_) sorted[demangled(entry.first)] += entry.second.count;
    std::string text = "{";
    const char* comma = "";
    for (const auto& entry : sorted) {
      text += comma + quoted(entry.first) + ": " + std::to_string(entry.second);
      comma = ", ";
    }
    return text + "}";
  }

 private:
  struct Seen {
    std::uint64_t count = 0;
    bool matches = false;
  };

  Seen& seen_of(const char* symbol) {
    auto known = by_address_.find(symbol);
    if (known != by_address_.end() && known->second.first == symbol) return *known->second.second;
    Seen& seen = by_name_[symbol];
    if (seen.count == 0) seen.matches = matches(symbol);
    by_address_[symbol] = {symbol, &seen};
    return seen;
  }

  Pattern pattern_;
  std::uint64_t wanted_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Seen> by_name_;
  // A name's memory may be reused for another kernel's name, so the text is compared too.
  std::unordered_map<const void*, std::pair<std::string, Seen*>> by_address_;
  std::uint64_t launches_ = 0;
  std::uint64_t matched_ = 0;
  bool done_ = false;
};

}  // namespace rocm_perf
