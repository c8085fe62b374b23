// What comes again and again, written once and then named by its number.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cupti/table.h"

namespace rocm_perf {

// Texts. Those of a program that makes up ever new names are forgotten when there are many, and written again.
class Strings {
 public:
  std::int64_t number(std::string_view text);
  std::string taken();  // what is new, as the content of a block; empty if nothing is
  void clear();         // for another file

 private:
  static constexpr std::size_t kMost = 1 << 16;

  std::deque<std::string> kept_;
  std::unordered_map<std::string_view, std::int64_t> numbers_;
  std::deque<std::string> fresh_;
  std::int64_t next_ = 0;
};

// Rows of numbers that few values fill.
template <std::size_t Columns>
class Rows {
 public:
  explicit Rows(char id) : fresh_(id, Columns) {}

  std::int64_t number(const std::array<std::int64_t, Columns>& row) {
    if (numbers_.size() >= kMost) numbers_.clear();
    const auto [entry, is_new] = numbers_.try_emplace(row, next_);
    if (is_new) {
      ++next_;
      fresh_.add(row);
    }
    return entry->second;
  }

  Table& fresh() { return fresh_; }

  void clear() {
    numbers_.clear();
    next_ = 0;
  }

 private:
  static constexpr std::size_t kMost = 1 << 16;

  std::map<std::array<std::int64_t, Columns>, std::int64_t> numbers_;
  Table fresh_;
  std::int64_t next_ = 0;
};

}  // namespace rocm_perf
