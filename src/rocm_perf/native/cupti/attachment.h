// Whether CUPTI is at work in the program. While it is, calls of CUDA are dearer, also if nothing is recorded (H200,
// CUDA 13.0: a launch by a third, a graph by a quarter of a microsecond for each of its kernels), until it is detached.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "cupti/running_graphs.h"

namespace rocm_perf {

class Attachment {
 public:
  // `listen` asks for the callbacks that are needed as long as it is attached.
  Attachment(CUpti_CallbackFunc called_back, void (*listen)(CUpti_SubscriberHandle), bool may_leave);

  CUptiResult attach();
  void release();  // it is detached at the end of a call of CUDA, as soon as no other call is under way
  bool hold();     // takes that back, or attaches anew (true); CUPTI may be called afterwards
  bool keep();     // takes that back for good; false if it is too late
  void called(const CUpti_CallbackData& call);  // CUDA, in any thread
  bool can_leave() const { return can_leave_; }
  bool is_attached() const { return state_ == State::attached; }
  bool is_leaving() const { return state_ == State::leaving || state_ == State::detaching; }  // CUPTI may not be called
  bool is_stuck() const;     // it was released, and calls were made, but never was none under way
  std::int64_t now() const;  // CUPTI's clock, attached or not

 private:
  enum class State { detached, attached, leaving, detaching };

  bool stay();  // if it was released and not yet detached
  void begin_call();
  void try_to_detach(const CUpti_CallbackData& ended);
  void listen_to_calls(bool on) const;

  const CUpti_CallbackFunc called_back_;
  void (*const listen_)(CUpti_SubscriberHandle);
  std::atomic<bool> can_leave_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::atomic<State> state_{State::detached};
  std::atomic<std::int64_t> calls_{0};  // of CUDA that are under way
  std::atomic<std::uint64_t> mark_{0};  // of a call that began since it was attached
  RunningGraphs graphs_;
  std::atomic<std::int64_t> ahead_ns_{0};  // of our clock is CUPTI's
  std::atomic<std::int64_t> tried_{0};     // when the first call ended after it was released; 0: none did
};

}  // namespace rocm_perf
