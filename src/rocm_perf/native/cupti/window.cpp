#include "cupti/window.h"

#include <algorithm>
#include <cstdlib>

#include "common/environment.h"

namespace rocm_perf {
namespace {

std::int64_t nanoseconds(const char* variable) {
  constexpr double kMostSeconds = 1e9;
  const double seconds = std::strtod(environment(variable, "0").c_str(), nullptr);
  return seconds > 0 ? static_cast<std::int64_t>(std::min(seconds, kMostSeconds) * 1e9) : 0;
}

}  // namespace

WindowSettings window_settings() {
  WindowSettings settings;
  settings.delay_ns = nanoseconds("ROCM_PERF_WINDOW_DELAY_S");
  settings.duration_ns = nanoseconds("ROCM_PERF_WINDOW_DURATION_S");
  settings.open_ns = nanoseconds("ROCM_PERF_WINDOW_OPEN_S");
  settings.period_ns = nanoseconds("ROCM_PERF_WINDOW_PERIOD_S");
  settings.last_ns = nanoseconds("ROCM_PERF_WINDOW_LAST_S");
  settings.max_bytes = std::strtoull(environment("ROCM_PERF_WINDOW_MAX_BYTES", "0").c_str(), nullptr, 10);
  settings.range = environment("ROCM_PERF_WINDOW_RANGE");
  const std::string steps = environment("ROCM_PERF_WINDOW_STEPS");
  const std::size_t dots = steps.find("..");
  if (dots != std::string::npos) {
    settings.first_step = std::strtoull(steps.c_str(), nullptr, 10);
    settings.last_step = std::strtoull(steps.c_str() + dots + 2, nullptr, 10);
  }
  return settings;
}

Window::Window(WindowSettings settings, std::int64_t now)
    : settings_(std::move(settings)), begin_(now + settings_.delay_ns) {
  if (!settings_.is_limited()) state_ = State::open;
}

Window::State Window::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Window::tick(std::int64_t now) {
  const bool due = is_due(now);
  const std::lock_guard lock(mutex_);
  if (state_ == State::over) return;
  if (due && state_ != State::open) set(State::open, now);
  if (!due && state_ == State::open && settings_.recurs()) set(State::closed, now);
  if (is_over(now)) set(State::over, now);
}

// One that has closed opens again only if it recurs.
bool Window::is_due(std::int64_t now) const {
  const std::lock_guard lock(mutex_);
  if (!settings_.range.empty() || now < begin_ || is_over(now)) return false;
  return settings_.recurs() ? is_period_open(now) : state_ == State::waiting;
}

bool Window::is_period_open(std::int64_t now) const {
  return now >= rests_until_ && into_period(now) < settings_.open_ns;
}

bool Window::is_over(std::int64_t now) const {
  return state_ == State::over || (opened_ && settings_.duration_ns && now >= opened_ + settings_.duration_ns);
}

void Window::range_opened(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  if (ranges_++ == 0 && now >= begin_) ++steps_;
  if (state_ != State::over && now >= begin_ && admits_step()) set(State::open, now);
}

void Window::range_closed(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  if (ranges_ == 0 || --ranges_ > 0) return;
  if (state_ == State::open) set(steps_ >= settings_.last_step ? State::over : State::closed, now);
}

void Window::rest(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::open || !settings_.recurs()) return;
  rests_until_ = now - into_period(now) + settings_.period_ns;
  ++rests_;
  set(State::closed, now);
}

void Window::end(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  set(State::over, now);
}

void Window::set(State state, std::int64_t now) {
  const bool was_open = state_ == State::open, is_open = state == State::open;
  state_ = state;
  if (was_open == is_open || !settings_.is_limited()) return;
  changes_.emplace_back(now, is_open);
  if (is_open && !opened_) opened_ = now;
}

std::int64_t Window::next_change(std::int64_t now) const {
  const std::lock_guard lock(mutex_);
  if (state_ == State::over) return INT64_MAX;
  const bool is_late = now >= begin_;
  if (state_ == State::waiting && settings_.range.empty() && !(is_late && settings_.recurs())) return begin_;
  const std::int64_t end = opened_ && settings_.duration_ns ? opened_ + settings_.duration_ns : INT64_MAX;
  if (!settings_.recurs()) return end;
  const bool is_due = is_period_open(now);
  if (is_due != (state_ == State::open)) return now;
  return std::min(end, now - into_period(now) + (is_due ? settings_.open_ns : settings_.period_ns));
}

std::vector<std::pair<std::int64_t, bool>> Window::taken_changes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(changes_, {});
}

std::string Window::account(std::int64_t now) const {
  const std::lock_guard lock(mutex_);
  if (state_ == State::open && !settings_.range.empty()) return "the range was still open at the end";
  if (rests_) return "it closed early " + std::to_string(rests_) + " times, to cost the program less";
  if (opened_ || !settings_.is_limited()) return "";
  if (settings_.range.empty()) return now < begin_ ? "the program ended before the delay was over" : "";
  if (steps_ == 0) return "the range never opened";
  return "the range opened " + std::to_string(steps_) + " times, less often than the first step asked for";
}

}  // namespace rocm_perf
