// Which part of the program's run is recorded.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rocm_perf {

struct WindowSettings {
  std::int64_t delay_ns = 0;
  std::int64_t duration_ns = 0;  // 0: to the end
  std::int64_t open_ns = 0;      // 0: once; else the length of a window that opens again every `period_ns`
  std::int64_t period_ns = 0;
  std::int64_t last_ns = 0;      // 0: everything; else what happened so long before the end
  std::uint64_t max_bytes = 0;   // 0: without limit
  std::string range;             // empty, the name of a range, or kProfilerRange
  std::uint64_t first_step = 1;  // which times that the range opens count
  std::uint64_t last_step = UINT64_MAX;

  bool recurs() const { return open_ns > 0 && period_ns > open_ns; }
  bool is_limited() const { return delay_ns || duration_ns || recurs() || !range.empty(); }
};

inline constexpr std::string_view kProfilerRange = "@profiler";  // between the calls that start and stop a profiler

WindowSettings window_settings();  // as the environment has them

// Opens and closes with time and ranges; called by any thread. Times are CUPTI's.
class Window {
 public:
  enum class State { waiting, open, closed, over };

  Window(WindowSettings settings, std::int64_t now);
  void tick(std::int64_t now);
  void range_opened(std::int64_t now);
  void range_closed(std::int64_t now);
  void rest(std::int64_t now);  // one that recurs, until its next period
  void end(std::int64_t now);   // for good
  State state() const;
  bool is_due(std::int64_t now) const;  // whether time alone lets it be open now
  bool is_named(std::string_view range) const { return range == settings_.range; }
  std::int64_t next_change(std::int64_t now) const;  // when `tick` has something to do; INT64_MAX: time changes nothing
  std::vector<std::pair<std::int64_t, bool>> taken_changes();  // when it opened (true) and closed, since the last call
  std::string account(std::int64_t now) const;                 // why it never opened, or is not closed; else empty

 private:
  void set(State state, std::int64_t now);
  bool is_over(std::int64_t now) const;
  bool is_period_open(std::int64_t now) const;
  std::int64_t into_period(std::int64_t now) const { return (now - begin_) % settings_.period_ns; }
  bool admits_step() const { return steps_ >= settings_.first_step && steps_ <= settings_.last_step; }

  const WindowSettings settings_;
  const std::int64_t begin_;  // earliest opening
  mutable std::mutex mutex_;  // of what follows
  State state_ = State::waiting;
  std::int64_t opened_ = 0;  // first opening
  std::int64_t rests_until_ = 0;
  std::uint64_t rests_ = 0;   // how often it closed before its time
  std::uint64_t ranges_ = 0;  // that are open now, on all threads
  std::uint64_t steps_ = 0;   // openings so far
  std::vector<std::pair<std::int64_t, bool>> changes_;
};

}  // namespace rocm_perf
