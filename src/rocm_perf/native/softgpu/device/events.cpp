#include "softgpu/device/events.h"

#include <algorithm>
#include <chrono>

namespace rocm_perf::softgpu::device {
namespace {
constexpr std::uint32_t kForever = 0xffffffff;
}  // namespace

std::uint32_t Events::create(bool auto_reset) {
  std::lock_guard<std::mutex> lock(mutex_);
  events_[next_].auto_reset = auto_reset;
  return next_++;
}

void Events::destroy(std::uint32_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto event = events_.find(id);
  if (event == events_.end()) return;
  for (Waiter* waiter : event->second.waiters) waiter->is_woken = true;
  events_.erase(event);
  changed_.notify_all();
}

void Events::set(std::uint32_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto event = events_.find(id);
  if (event == events_.end()) return;
  Event& one = event->second;
  one.is_set = !one.auto_reset || one.waiters.empty();
  ++one.age;
  for (Waiter* waiter : one.waiters) waiter->is_woken = true;
  changed_.notify_all();
}

void Events::reset(std::uint32_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto event = events_.find(id);
  if (event != events_.end()) event->second.is_set = false;
}

// Whether there is such an event. One that is set already wakes at once, and so does one whose newer age was missed.
bool Events::enter(EventData& data, Waiter& waiter) {
  auto event = events_.find(data.event_id);
  if (event == events_.end()) return false;
  Event& one = event->second;
  waiter.is_woken = one.is_set || (data.last_age != 0 && data.last_age != one.age);
  if (one.auto_reset) one.is_set = false;
  one.waiters.push_back(&waiter);
  return true;
}

void Events::leave(const EventData& data, const Waiter& waiter) {
  auto event = events_.find(data.event_id);
  if (event == events_.end()) return;
  auto& waiters = event->second.waiters;
  waiters.erase(std::remove(waiters.begin(), waiters.end(), &waiter), waiters.end());
}

WaitResult Events::wait(EventData* events, std::uint32_t count, bool for_all, std::uint32_t timeout_ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::vector<Waiter> waiters(count);
  bool all_exist = true;
  for (std::uint32_t at = 0; at < count; ++at) all_exist = enter(events[at], waiters[at]) && all_exist;

  auto is_woken = [](const Waiter& waiter) { return waiter.is_woken; };
  auto is_over = [&] {
    return for_all ? std::all_of(waiters.begin(), waiters.end(), is_woken)
                   : std::any_of(waiters.begin(), waiters.end(), is_woken);
  };
  bool is_done = all_exist;
  if (all_exist && timeout_ms == kForever) {
    changed_.wait(lock, is_over);
  } else if (all_exist) {
    is_done = changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_over);
  }
  for (std::uint32_t at = 0; at < count; ++at) {
    leave(events[at], waiters[at]);
    auto event = events_.find(events[at].event_id);
    if (waiters[at].is_woken && event != events_.end() && events[at].last_age != 0) {
      events[at].last_age = event->second.age;
    }
  }
  if (!all_exist) return kFail;
  return is_done ? kComplete : kTimeout;
}

Events& events() {
  static Events* const only = new Events;
  return *only;
}

}  // namespace rocm_perf::softgpu::device
