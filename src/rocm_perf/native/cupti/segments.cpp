#include "cupti/segments.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace rocm_perf {
namespace {

constexpr std::int64_t kShortest = 250'000'000;  // nanoseconds: a file for every moment helps nobody

// name.rptrace -> name.000012.rptrace
std::string numbered(const std::string& path, std::uint64_t number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, ".%06llu", static_cast<unsigned long long>(number));
  const std::size_t dot = path.rfind('.');
  return path.substr(0, dot) + digits + path.substr(dot);
}

}  // namespace

bool Segments::is_due(std::int64_t now) const {
  if (!is_ring() || !file.is_open()) return false;
  const bool is_large = max_bytes_ && file.size() >= max_bytes_ / kParts;
  return is_large || now - begun_ >= std::max(last_ns_ / kParts, kShortest);
}

bool Segments::open_next(std::int64_t now) {
  if (!is_ring()) return file.open(path_);
  if (number_) kept_.push_back({file.path(), file.size(), now});
  forget(now);
  begun_ = now;
  return file.open(numbered(path_, ++number_));
}

void Segments::forget(std::int64_t now) {
  std::uint64_t total = max_bytes_ / kParts;  // the one that begins now
  for (const Kept& kept : kept_) total += kept.size;
  while (!kept_.empty() && (kept_.front().end < now - last_ns_ || (max_bytes_ && total > max_bytes_))) {
    total -= kept_.front().size;
    ::unlink(kept_.front().path.c_str());
    kept_.pop_front();
  }
}

}  // namespace rocm_perf
