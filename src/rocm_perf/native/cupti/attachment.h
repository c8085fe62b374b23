// Whether CUPTI is at work in the program. Once it has recorded, it makes every call of CUDA dearer, also while nothing
// is recorded (half as dear again on an H200), until it is detached.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

namespace rocm_perf {

class Attachment {
 public:
  // `listen` asks for the callbacks that are needed as long as it is attached.
  Attachment(CUpti_CallbackFunc called_back, void (*listen)(CUpti_SubscriberHandle))
      : called_back_(called_back), listen_(listen) {}

  CUptiResult attach();
  void release();     // detaches at the end of the next call of CUDA, the only safe moment; where CUPTI can do that
  bool hold();        // takes that back, or attaches anew (true); CUPTI may be called afterwards
  void call_ended();  // of CUDA, in any thread: what was released is detached
  bool is_attached() const { return state_ == State::attached; }
  std::int64_t now() const;  // CUPTI's clock, attached or not

 private:
  enum class State { detached, attached, leaving, detaching };

  void listen_to_calls(bool on) const;

  const CUpti_CallbackFunc called_back_;
  void (*const listen_)(CUpti_SubscriberHandle);
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::atomic<State> state_{State::detached};
  std::atomic<std::int64_t> ahead_ns_{0};  // of our clock is CUPTI's
};

}  // namespace rocm_perf
