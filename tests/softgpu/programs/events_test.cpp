// The driver's rules for events: each line of the output is one of them, and whether it is kept.
#include "softgpu/device/events.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

using namespace rocm_perf::softgpu::device;

namespace {

constexpr std::uint32_t kLong = 20000, kShort = 20;  // milliseconds

EventData about(std::uint32_t id, std::uint64_t age = 0) {
  EventData out{};
  out.event_id = id;
  out.last_age = age;
  return out;
}

void say(const char* rule, bool is_kept) { std::printf("%s: %s\n", rule, is_kept ? "kept" : "broken"); }

bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const auto name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0;
}

void await_sleep(const std::atomic<pid_t>& thread) {
  while (!thread || !is_asleep(thread)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool all_waiters_wake(Events& events, std::uint32_t id) {
  std::atomic<int> woken{0};
  std::atomic<pid_t> waiters[2] = {};
  auto wait = [&](std::atomic<pid_t>& self) {
    EventData data = about(id);
    self = gettid();
    if (events.wait(&data, 1, false, kLong) == kComplete) ++woken;
  };
  std::thread first(wait, std::ref(waiters[0])), second(wait, std::ref(waiters[1]));
  for (const auto& waiter : waiters) await_sleep(waiter);
  events.set(id);
  first.join();
  second.join();
  return woken == 2;
}

}  // namespace

int main() {
  Events events;
  std::uint32_t id = events.create(true), other = events.create(true);
  say("all who wait for an event are woken by it", all_waiters_wake(events, id));
  EventData data = about(id);
  say("an event that resets itself does not wake those who come later",
      events.wait(&data, 1, false, kShort) == kTimeout);
  events.set(id);
  say("one that was set before is not waited for", events.wait(&data, 1, false, kLong) == kComplete);
  EventData aged = about(id, 1);
  bool is_woken = events.wait(&aged, 1, false, kLong) == kComplete;
  say("one that was set since its age was known is not waited for", is_woken && aged.last_age > 1);
  say("one whose age is known is waited for", events.wait(&aged, 1, false, kShort) == kTimeout);
  EventData both[] = {about(id), about(other)};
  events.set(other);
  say("one of several is not all of them", events.wait(both, 2, true, kShort) == kTimeout);
  events.set(other);
  say("one of several is enough for any", events.wait(both, 2, false, kLong) == kComplete);
  events.destroy(id);
  say("what is gone cannot be waited for", events.wait(&data, 1, false, kLong) == kFail);
}
