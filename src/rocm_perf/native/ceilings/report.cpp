#include "ceilings/report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "gpu/gpu.h"

namespace rocm_perf {

namespace {

class Event {
 public:
  Event() { check(gpu(EventCreate)(&event_), "creating an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { (void)gpu(EventDestroy)(event_); }

  void record() { check(gpu(EventRecord)(event_, nullptr), "recording an event"); }
  void wait() { check(gpu(EventSynchronize)(event_), "waiting for an event"); }
  double ms_since(const Event& start) const {
    float ms = 0;
    check(gpu(EventElapsedTime)(&ms, start.event_, event_), "reading an event");
    return ms;
  }

 private:
  gpu(Event_t) event_;
};

}  // namespace

Times event_times_ms(const std::function<void()>& launch) {
  for (int number = 0; number < kWarmups; ++number) launch();
  check(gpu(GetLastError)(), "launching a kernel");
  std::vector<Event> starts(kSamples), ends(kSamples);
  for (int number = 0; number < kSamples; ++number) {
    starts[number].record();
    launch();
    ends[number].record();
  }
  ends.back().wait();
  check(gpu(GetLastError)(), "running a kernel");
  Times times;
  for (int number = 0; number < kSamples; ++number) times.push_back(ends[number].ms_since(starts[number]));
  return times;
}

Times host_times_ms(int calls, const std::function<void()>& call, const std::function<void()>& after) {
  Times times;
  for (int number = -kWarmups; number < kSamples; ++number) {
    const auto start = std::chrono::steady_clock::now();
    for (int done = 0; done < calls; ++done) call();
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    after();
    if (number >= 0) times.push_back(taken.count() / calls);
  }
  return times;
}

double median(Times times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void report(const std::string& name, const std::string& unit, double amount, const Times& times) {
  std::printf("{\"name\": \"%s\", \"unit\": \"%s\", \"amount\": %.17g, \"times_ms\": [", name.c_str(), unit.c_str(),
              amount);
  for (size_t place = 0; place < times.size(); ++place) std::printf("%s%.9g", place ? ", " : "", times[place]);
  std::printf("]}\n");
  std::fflush(stdout);
}

void report_absent(const std::string& name, const std::string& reason) {
  std::printf("{\"name\": \"%s\", \"reason\": \"%s\"}\n", name.c_str(), reason.c_str());
  std::fflush(stdout);
}

}  // namespace rocm_perf
