#include "cupti/interned.h"

namespace rocm_perf {
namespace {

void append(std::string& out, std::size_t number) {
  const auto narrow = static_cast<std::uint32_t>(number);
  out.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
}

}  // namespace

std::int64_t Strings::number(std::string_view text) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  if (numbers_.size() >= kMost) {
    numbers_.clear();
    kept_.clear();
  }
  kept_.emplace_back(text);
  fresh_.emplace_back(text);
  numbers_.emplace(kept_.back(), next_);
  return next_++;
}

std::string Strings::taken() {
  if (fresh_.empty()) return "";
  std::string block = "S", texts;
  append(block, static_cast<std::size_t>(next_) - fresh_.size());
  append(block, fresh_.size());
  for (const std::string& text : fresh_) {
    append(block, text.size());
    texts += text;
  }
  fresh_.clear();
  return block + texts;
}

void Strings::clear() {
  numbers_.clear();
  kept_.clear();
  fresh_.clear();
  next_ = 0;
}

}  // namespace rocm_perf
