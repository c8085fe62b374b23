#include "capture/target.h"

#include <cstdlib>
#include <stdexcept>

namespace rocm_perf {
namespace {

constexpr std::size_t kMostShapes = 256;

}  // namespace

Pattern::Pattern(const std::string& text, bool ignore_case) {
  int failed = ::regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB | (ignore_case ? REG_ICASE : 0));
  if (failed == 0) return;
  char why[128] = "";
  ::regerror(failed, &compiled_, why, sizeof why);
  throw std::runtime_error("the kernel's pattern " + text + ": " + why);
}

Target::Target()
    : pattern_(environment("ROCM_PERF_CAPTURE_KERNEL", ".*"), switched_on("ROCM_PERF_CAPTURE_IGNORE_CASE")),
      wanted_(std::strtoull(environment("ROCM_PERF_CAPTURE_DISPATCH", "1").c_str(), nullptr, 10)) {}

bool Target::meets(const char* symbol, const Shape& shape, const std::function<bool()>& runs) {
  std::lock_guard<std::mutex> hold(mutex_);
  ++launches_;
  Seen& seen = seen_of(symbol);
  ++seen.count;
  if (!seen.matches || done_ || !runs()) return false;
  ++matched_;
  if (first_of_shape_.size() < kMostShapes) first_of_shape_.emplace(shape, matched_);
  if (matched_ != wanted_) return false;
  done_ = true;
  return true;
}

bool Target::matches(const std::string& symbol) const {
  return pattern_.found_in(symbol) || pattern_.found_in(demangled(symbol));
}

std::uint64_t Target::launches() const {
  std::lock_guard<std::mutex> hold(mutex_);
  return launches_;
}

std::uint64_t Target::matched() const {
  std::lock_guard<std::mutex> hold(mutex_);
  return matched_;
}

std::string Target::names_seen() const {
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

std::string Target::shapes_seen() const {
  std::lock_guard<std::mutex> hold(mutex_);
  std::string text;
  for (const auto& entry : first_of_shape_) text += (text.empty() ? "" : ", ") + std::to_string(entry.second);
  return "[" + text + "]";
}

Target::Seen& Target::seen_of(const char* symbol) {
  auto known = by_address_.find(symbol);
  if (known != by_address_.end() && known->second.first == symbol) return *known->second.second;
  Seen& seen = by_name_[symbol];
  if (seen.count == 0) seen.matches = matches(symbol);
  by_address_[symbol] = {symbol, &seen};
  return seen;
}

}  // namespace rocm_perf
