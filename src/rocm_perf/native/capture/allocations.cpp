#include "capture/allocations.h"

#include <iterator>
#include <utility>

namespace rocm_perf {

void Allocations::add(Allocation one) {
  if (one.base == 0 || one.size == 0) return;
  std::lock_guard<std::mutex> hold(mutex_);
  auto at = live_.upper_bound(one.base);
  if (at != live_.begin() && std::prev(at)->second.end() > one.base) --at;
  while (at != live_.end() && at->first < one.end()) {
    Allocation old = at->second;
    at = live_.erase(at);
    if (old.end() > one.end()) at = live_.insert(at, {one.end(), part_of(old, one.end(), old.end())});
    if (old.base < one.base) live_.emplace(old.base, part_of(old, old.base, one.base));
  }
  live_[one.base] = std::move(one);
}

void Allocations::mark(std::uint64_t base, const std::string& uncovered) {
  std::lock_guard<std::mutex> hold(mutex_);
  auto known = live_.find(base);
  if (known != live_.end()) known->second.uncovered = uncovered;
}

void Allocations::remove_of(std::uint64_t owner) {
  std::lock_guard<std::mutex> hold(mutex_);
  for (auto at = live_.begin(); at != live_.end();) at = at->second.owner == owner ? live_.erase(at) : std::next(at);
}

void Allocations::remove(std::uint64_t base) {
  std::lock_guard<std::mutex> hold(mutex_);
  live_.erase(base);
}

void Allocations::remove_within(std::uint64_t base, std::uint64_t size) {
  std::lock_guard<std::mutex> hold(mutex_);
  live_.erase(live_.lower_bound(base), live_.lower_bound(base + size));
}

std::optional<Allocation> Allocations::holding(std::uint64_t address) const {
  std::lock_guard<std::mutex> hold(mutex_);
  auto next = live_.upper_bound(address);
  if (next == live_.begin()) return std::nullopt;
  const Allocation& one = std::prev(next)->second;
  if (address >= one.end()) return std::nullopt;
  return one;
}

std::vector<Allocation> Allocations::all() const {
  std::lock_guard<std::mutex> hold(mutex_);
  std::vector<Allocation> out;
  out.reserve(live_.size());
  for (const auto& entry : live_) out.push_back(entry.second);
  return out;
}

Allocation Allocations::part_of(const Allocation& whole, std::uint64_t from, std::uint64_t to) {
  Allocation out = whole;
  out.base = from;
  out.size = to - from;
  return out;
}

}  // namespace rocm_perf
