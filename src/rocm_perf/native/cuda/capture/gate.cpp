#include "cuda/capture/gate.h"

#include <fcntl.h>

#include <chrono>
#include <stdexcept>

namespace rocm_perf {

void Gate::enter() {
  for (;;) {
    ++inside_;
    if (!shut_ || std::this_thread::get_id() == holder_) return;
    leave();
    std::unique_lock<std::mutex> hold(mutex_);
    opened_.wait(hold, [this] { return !shut_; });
  }
}

void Gate::shut() {
  holder_ = std::this_thread::get_id();
  shut_ = true;
}

void Gate::await_others(double deadline) const {
  while (inside_ > 1) {
    if (seconds() > deadline) throw std::runtime_error("a call of another thread into the driver does not return");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void Gate::open() {
  {
    std::lock_guard<std::mutex> hold(mutex_);
    shut_ = false;
  }
  opened_.notify_all();
}

}  // namespace rocm_perf
