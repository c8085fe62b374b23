// Events as the kernel driver has them: whoever waits for one is woken by it, however many they are. An event that
// resets itself does so for those who come later, not for those who already wait.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "softgpu/device/kfd_abi.h"

namespace rocm_perf::softgpu::device {

class Events {
 public:
  std::uint32_t create(bool auto_reset);
  void destroy(std::uint32_t id);
  void set(std::uint32_t id);
  void reset(std::uint32_t id);
  WaitResult wait(EventData* events, std::uint32_t count, bool for_all, std::uint32_t timeout_ms);

 private:
  struct Waiter {
    bool is_woken = false;
  };
  struct Event {
    bool auto_reset = false;
    bool is_set = false;
    std::uint64_t age = 1;  // how often it was set; a waiter that knows an older age does not sleep
    std::vector<Waiter*> waiters;
  };

  bool enter(EventData& data, Waiter& waiter);
  void leave(const EventData& data, const Waiter& waiter);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, Event> events_;
  std::uint32_t next_ = 1;
};

Events& events();

}  // namespace rocm_perf::softgpu::device
