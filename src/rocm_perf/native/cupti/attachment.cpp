#include "cupti/attachment.h"

#include <time.h>

#include <chrono>
#include <initializer_list>
#include <thread>

#include "cupti/calls.h"

namespace rocm_perf {
namespace {

constexpr std::uint32_t kDetachable = 24;  // CUDA 12.6: before it, programs crashed when it was attached again
constexpr auto kGlance = std::chrono::microseconds(20);

std::int64_t own_clock() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000L + time.tv_nsec;
}

std::int64_t cupti_clock() {
  std::uint64_t time = 0;
  cuptiGetTimestamp(&time);
  return static_cast<std::int64_t>(time);
}

bool is_detachable() {
  std::uint32_t version = 0;
  return cuptiGetVersion(&version) == CUPTI_SUCCESS && version >= kDetachable;
}

}  // namespace

Attachment::Attachment(CUpti_CallbackFunc called_back, void (*listen)(CUpti_SubscriberHandle), bool may_leave)
    : called_back_(called_back),
      listen_(listen),
      can_leave_(may_leave && is_detachable()),
      ahead_ns_(cupti_clock() - own_clock()) {}

// CUPTI is subscribed to before anything is enabled: in the other order one program in five crashed (H200, CUDA 13.0).
CUptiResult Attachment::attach() {
  calls_ = 0;
  ++mark_;
  const CUptiResult result = cuptiSubscribe(&subscriber_, called_back_, nullptr);
  if (result != CUPTI_SUCCESS) return result;
  cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  ahead_ns_ = cupti_clock() - own_clock();
  if (can_leave_) listen_to_calls(true);
  listen_(subscriber_);
  state_ = State::attached;
  return result;
}

bool Attachment::release() {
  if (!can_leave() || state_ != State::attached) return false;
  ahead_ns_ = cupti_clock() - own_clock();
  state_ = State::leaving;
  return true;
}

bool Attachment::stay() {
  State leaving = State::leaving;
  return state_.compare_exchange_strong(leaving, State::attached);
}

bool Attachment::keep() {
  if (!stay() && state_ != State::attached) return false;
  if (can_leave_.exchange(false)) listen_to_calls(false);
  return true;
}

bool Attachment::hold() {
  while (is_leaving() && !stay()) std::this_thread::sleep_for(kGlance);
  return state_ == State::detached && attach() == CUPTI_SUCCESS;
}

void Attachment::called(const CUpti_CallbackData& call) {
  if (!can_leave_) return;
  heard(call);
  if (call.callbackSite == CUPTI_API_ENTER) {
    ++calls_;
    *call.correlationData = mark_;
    return;
  }
  if (*call.correlationData != mark_) return;  // it began before CUPTI was attached
  if (--calls_ == 0) detach();
}

void Attachment::heard(const CUpti_CallbackData& call) {
  const std::thread::id me = std::this_thread::get_id();
  std::thread::id none;
  if (thread_ != me && !thread_.compare_exchange_strong(none, me)) has_threads_ = true;
  if (call.functionName && is_of_graph(call.functionName)) has_graphs_ = true;
}

void Attachment::detach() {
  State leaving = State::leaving;
  if (must_stay() || !state_.compare_exchange_strong(leaving, State::detaching)) return;
  cuptiFinalize();
  state_ = State::detached;
}

void Attachment::listen_to_calls(bool on) const {
  for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API})
    cuptiEnableDomain(on, subscriber_, domain);
}

std::int64_t Attachment::now() const { return is_attached() ? cupti_clock() : own_clock() + ahead_ns_; }

}  // namespace rocm_perf
