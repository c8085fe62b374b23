#include "common/mangled_text.h"

#include <algorithm>
#include <cstring>

namespace rocm_perf {
namespace {

constexpr int kDeepest = 100;  // types within types; real kernels have some 30

}  // namespace

bool one_of(char letter, const char* letters) { return letter != 0 && std::strchr(letters, letter) != nullptr; }

Extent operator+(Extent a, Extent b) { return {a.letters + b.letters, a.parameters + b.parameters, a.packs + b.packs}; }
Extent operator-(Extent a, Extent b) { return {a.letters - b.letters, a.parameters - b.parameters, a.packs - b.packs}; }
Extent operator*(std::int64_t count, Extent a) { return {count * a.letters, count * a.parameters, count * a.packs}; }

Extent longest_of(Extent a, Extent b) {
  return {std::max(a.letters, b.letters), std::max(a.parameters, b.parameters), std::max(a.packs, b.packs)};
}

void MangledText::advance(std::size_t length) {
  position_ += length;
  add({static_cast<std::int64_t>(length), 0, 0});
}

bool MangledText::accept(std::string_view text) {
  if (!starts(text)) return false;
  advance(text.size());
  return true;
}

bool MangledText::accept_one_of(std::initializer_list<std::string_view> texts) {
  return std::any_of(texts.begin(), texts.end(), [this](std::string_view text) { return accept(text); });
}

bool MangledText::accept_code(std::string_view codes) {
  for (std::size_t i = 0; i < codes.size(); i += 3)
    if (accept(codes.substr(i, 2))) return true;
  return false;
}

void MangledText::need(std::string_view text) {
  if (!accept(text)) throw Unreadable{};
}

void MangledText::need_counted() {
  digits();
  need("_");
}

void MangledText::digits() {
  std::size_t count = 0;
  while (is_digit(peek(count))) ++count;
  advance(count);
}

void MangledText::add(Extent extent) {
  extent_ = extent_ + extent;
  if (std::max({extent_.letters, extent_.parameters, extent_.packs}) > limit_) throw Unreadable{};
}

void MangledText::descend() {
  if (++depth_ > kDeepest) throw Unreadable{};
}

void MangledText::remember(Extent before) { parts_.push_back(extent_ - before); }

void MangledText::remember_perhaps(Extent before) {
  remember(before);
  ++unsure_;
}

void MangledText::refer(std::size_t number) {
  if (number >= parts_.size()) throw Unreadable{};
  Extent longest;
  for (std::size_t i = number; i < parts_.size() && i <= number + unsure_; ++i)
    longest = longest_of(longest, parts_[i]);
  add(longest);
}

}  // namespace rocm_perf
