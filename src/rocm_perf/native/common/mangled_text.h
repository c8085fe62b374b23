// A mangled name as it is read from left to right, with what was read until now and what can be referred to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace rocm_perf {

// Thrown where a name is not mangled as functions are, is nested deeper than any real one, or unfolds beyond the limit.
struct Unreadable {};

inline bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
inline bool is_upper(char letter) { return letter >= 'A' && letter <= 'Z'; }
inline bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
inline int base_36(char letter) { return is_digit(letter) ? letter - '0' : letter - 'A' + 10; }
bool one_of(char letter, const char* letters);

// What a part of a name unfolds to.
struct Extent {
  std::int64_t letters = 0;
  std::int64_t parameters = 0;  // references to the template arguments, of which each may be as long as the longest
  std::int64_t packs = 0;
};

Extent operator+(Extent a, Extent b);
Extent operator-(Extent a, Extent b);
Extent operator*(std::int64_t count, Extent a);
Extent longest_of(Extent a, Extent b);  // at least as long as each

class MangledText {
 public:
  MangledText(std::string_view name, std::int64_t limit) : name_(name), limit_(limit) {}

 protected:
  char peek(std::size_t ahead = 0) const { return position_ + ahead < name_.size() ? name_[position_ + ahead] : 0; }
  std::size_t left() const { return ended() ? 0 : name_.size() - position_; }
  bool ended() const { return position_ >= name_.size(); }
  bool starts(std::string_view text) const {
    return left() >= text.size() && name_.compare(position_, text.size(), text) == 0;
  }

  void advance(std::size_t length);
  bool accept(std::string_view text);
  bool accept_one_of(std::initializer_list<std::string_view> texts);
  bool accept_code(std::string_view codes);  // two letters, as they are among these: "nw na dl"
  void need(std::string_view text);
  void need_counted();  // `_`, `0_`, `1_`: the first, second and third of a kind
  void digits();

  void add(Extent extent);
  void descend();
  void remember(Extent before);          // what was read since then can be referred to from now on
  void remember_perhaps(Extent before);  // demanglers of different age do or do not count an unnamed type
  void refer(std::size_t number);

  std::string_view name_;
  Extent extent_;           // what has been read until now, unfolded
  int depth_ = 0;           // types and expressions within others
  bool scoped_ = false;     // `sr` has been read
  std::size_t unsure_ = 0;  // parts that not every demangler counts
  std::vector<Extent> parts_;

 private:
  std::int64_t limit_;
  std::size_t position_ = 0;
};

}  // namespace rocm_perf
