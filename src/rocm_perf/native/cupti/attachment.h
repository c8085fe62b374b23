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
  void release();  // detaches at the end of a call of CUDA, if one thread alone makes them, where CUPTI can do that
  bool hold();     // takes that back, or attaches anew (true); CUPTI may be called afterwards
  void keep();     // it is not detached any more
  void called(CUpti_ApiCallbackSite site);  // CUDA, in any thread: what was released may be detached
  bool is_attached() const { return state_ == State::attached; }
  bool is_leaving() const { return state_ == State::leaving || state_ == State::detaching; }  // CUPTI may not be called
  bool is_kept() const { return is_kept_; }
  std::int64_t now() const;  // CUPTI's clock, attached or not

 private:
  enum class State { detached, attached, leaving, detaching };

  void listen_to_calls(bool on) const;
  void stay();  // where it was released and not yet detached

  const CUpti_CallbackFunc called_back_;
  void (*const listen_)(CUpti_SubscriberHandle);
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::atomic<State> state_{State::detached};
  std::atomic<bool> is_kept_{false};
  std::atomic<std::int64_t> ahead_ns_{0};     // of our clock is CUPTI's
  std::atomic<std::int64_t> released_{0};     // when
  std::atomic<const void*> caller_{nullptr};  // the thread that called CUDA while it was released
};

}  // namespace rocm_perf
