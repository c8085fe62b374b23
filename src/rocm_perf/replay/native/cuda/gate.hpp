// Lets calls of the program's threads into the driver one may count, and keeps them out while one thread captures.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "../common/account.hpp"

namespace rocm_perf {

class Gate {
 public:
  // At the beginning of a call: waits while another thread captures.
  void enter() {
    for (;;) {
      ++inside_;
      if (!shut_ || std::this_thread::get_id() == holder_) return;
      leave();
      std::unique_lock<std::mutex> hold(mutex_);
      opened_.wait(hold, [this] { return !shut_; });
    }
  }

  void leave() { --inside_; }

  // By the thread that captures, from within its own call. Others are kept out from now on.
  void shut() {
    holder_ = std::this_thread::get_id();
    shut_ = true;
  }

  // What had entered before has left again.
  void await_others(double deadline) const {
    while (inside_ > 1) {
      if (seconds() > deadline) throw std::runtime_error("a call of another thread into the driver does not return");
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  void open() {
    {
      std::lock_guard<std::mutex> hold(mutex_);
      shut_ = false;
    }
    opened_.notify_all();
  }

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> shut_{false};
  std::thread::id holder_;
  std::mutex mutex_;
  std::condition_variable opened_;
};

}  // namespace rocm_perf
