// Whether CUPTI is at work in the program. While it is, calls of CUDA are dearer, also if nothing is recorded (H200,
// CUDA 13.0: a launch by a third, a graph by 0.2 to 0.4 us for each of its kernels), until it is detached. That is done
// only where programs were seen to live on: where one thread calls CUDA, and beside graphs only if it does not come
// back, when the GPU has nothing left to do, because graphs write to memory that goes with CUPTI. Of programs with more
// threads some died of its going, whatever was heeded (no call under way, none for 20 ms, an idle GPU); with graphs
// some died in CUPTI when it had come back, four of about 11,600 times. Being told of every call doubles the time of a
// step in torch, so while something is recorded only those calls are heard that few programs make often; records tell
// which threads make the others.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "cupti/calls.h"

namespace rocm_perf {

class Attachment {
 public:
  // `listen` asks for the callbacks that are needed as long as it is attached.
  Attachment(CUpti_CallbackFunc called_back, void (*listen)(CUpti_SubscriberHandle), bool may_leave, bool comes_back);

  CUptiResult attach();
  bool release();          // it is detached at the end of the next call of CUDA; false if it stays
  bool hold();             // takes that back, or attaches anew (true); CUPTI may be called afterwards
  void hear_all(bool on);  // calls: for a while before it is released
  bool keep();             // it is not detached any more; false if it is too late
  void called(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call);  // in any thread
  void called_by(std::uint32_t thread);         // of the system's number
  bool can_wait() const { return can_leave_; }  // attached as late as it is needed
  bool can_leave() const { return can_leave_ && !why_it_stays(); }
  const char* why_it_stays() const;  // null where it may be detached
  bool is_attached() const { return state_ == State::attached; }
  bool is_leaving() const { return state_ == State::leaving || state_ == State::detaching; }  // CUPTI may not be called
  double calls_per_ns() const;                                                                // since all were heard
  std::int64_t now() const;  // CUPTI's clock, attached or not

 private:
  enum class State { detached, attached, leaving, detaching };
  enum class Heard { nothing, few, all };  // of the calls of CUDA
  static constexpr std::size_t kDomains = CUPTI_CB_DOMAIN_RUNTIME_API + 1;

  bool waits_in_vain() const;  // it was released for long, and calls end, but none at which it may be detached
  bool stay();                 // if it was released and not yet detached
  CallKind kind_of(CUpti_CallbackDomain domain, CUpti_CallbackId id) const;
  void note(CallKind kind, CUpti_ApiCallbackSite site);
  bool may_detach(CUpti_CallbackDomain domain, CallKind kind, const CUpti_CallbackData& call);
  void detach();
  void hear(Heard what);

  const CUpti_CallbackFunc called_back_;
  void (*const listen_)(CUpti_SubscriberHandle);
  const bool comes_back_;
  std::atomic<bool> can_leave_;
  std::atomic<std::uint32_t> thread_{0};  // the first that called CUDA while it was attached
  std::atomic<bool> has_threads_{false};  // others called, too
  std::atomic<bool> has_graphs_{false};
  std::atomic<bool> has_runtime_{false};   // whose calls make others, of the driver
  std::atomic<int> captures_{0};           // of graphs that have begun
  std::vector<CallKind> kinds_[kDomains];  // by function
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::atomic<State> state_{State::detached};
  std::atomic<Heard> heard_{Heard::nothing};
  std::int64_t hears_all_since_ = 0;  // on our clock
  std::atomic<std::int64_t> calls_heard_{0};
  std::atomic<std::int64_t> calls_{0};         // of CUDA that are under way, since all are heard
  std::atomic<std::uint64_t> mark_{0};         // of the time since all are heard
  std::atomic<std::int64_t> passed_since_{0};  // on our clock: ends of calls at which it may not be detached; 0: none
  std::atomic<std::int64_t> ahead_ns_;         // of our clock is CUPTI's
};

}  // namespace rocm_perf
