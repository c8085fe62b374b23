// Lets calls of the program's threads into the driver one may count, and keeps them out while one thread captures.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "capture/account.h"

namespace rocm_perf {

class Gate {
 public:
  // At the beginning of a call: waits while another thread captures.
  void enter();

  void leave() { --inside_; }

  // By the thread that captures, from within its own call. Others are kept out from now on.
  void shut();

  // What had entered before has left again.
  void await_others(double deadline) const;

  void open();

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> shut_{false};
  std::thread::id holder_;
  std::mutex mutex_;
  std::condition_variable opened_;
};

}  // namespace rocm_perf
