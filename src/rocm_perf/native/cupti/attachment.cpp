#include "cupti/attachment.h"

#include <time.h>

#include <chrono>
#include <initializer_list>
#include <thread>

namespace rocm_perf {
namespace {

constexpr std::uint32_t kDetachable = 24;          // CUDA 12.6: before it, programs crashed when it was attached again
constexpr std::int64_t kPatience = 1'000'000'000;  // nanoseconds
constexpr auto kGlance = std::chrono::microseconds(20);

thread_local bool is_detaching_here = false;  // calls that this thread makes now are ours

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
    : called_back_(called_back), listen_(listen), can_leave_(may_leave && is_detachable()) {}

// CUPTI is subscribed to before anything is enabled: in the other order one program in five crashed (H200, CUDA 13.0).
CUptiResult Attachment::attach() {
  calls_ = 0;
  ++mark_;
  graphs_.forget();
  const CUptiResult result = cuptiSubscribe(&subscriber_, called_back_, nullptr);
  if (result != CUPTI_SUCCESS) return result;
  cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  ahead_ns_ = cupti_clock() - own_clock();
  if (can_leave_) listen_to_calls(true);
  listen_(subscriber_);
  state_ = State::attached;
  return result;
}

void Attachment::release() {
  if (!can_leave_ || state_ != State::attached) return;
  ahead_ns_ = cupti_clock() - own_clock();
  tried_ = 0;
  state_ = State::leaving;
}

bool Attachment::stay() {
  State leaving = State::leaving;
  return state_.compare_exchange_strong(leaving, State::attached);
}

bool Attachment::keep() {
  if (!stay()) return false;
  can_leave_ = false;
  listen_to_calls(false);
  return true;
}

bool Attachment::hold() {
  while (is_leaving() && !stay()) std::this_thread::sleep_for(kGlance);
  return state_ == State::detached && attach() == CUPTI_SUCCESS;
}

void Attachment::called(const CUpti_CallbackData& call) {
  if (!can_leave_ || is_detaching_here) return;
  if (call.callbackSite == CUPTI_API_ENTER) {
    begin_call();
    *call.correlationData = mark_;
    return graphs_.called(call);
  }
  if (*call.correlationData != mark_) return;  // it began before CUPTI was attached
  graphs_.called(call);
  --calls_;
  if (state_ == State::leaving) try_to_detach(call);
}

// None begins while CUPTI is being detached.
void Attachment::begin_call() {
  ++calls_;
  if (state_ != State::detaching) return;
  const std::int64_t end = own_clock() + kPatience;
  const auto is_held = [this, end] { return state_ == State::detaching && own_clock() < end; };
  do {
    --calls_;
    while (is_held()) std::this_thread::sleep_for(kGlance);
    ++calls_;
  } while (is_held());
}

// While a call is under way in another thread, or a graph runs, programs failed (H200, CUDA 13.0).
void Attachment::try_to_detach(const CUpti_CallbackData& ended) {
  std::int64_t never = 0;
  tried_.compare_exchange_strong(never, own_clock());
  State leaving = State::leaving;
  if (calls_ > 0 || !state_.compare_exchange_strong(leaving, State::detaching)) return;
  is_detaching_here = true;
  const bool is_quiet = calls_ == 0 && graphs_.finish(ended) && calls_ == 0;
  if (is_quiet) cuptiFinalize();
  state_ = is_quiet ? State::detached : State::leaving;
  is_detaching_here = false;
}

bool Attachment::is_stuck() const { return state_ == State::leaving && tried_ && own_clock() - tried_ > kPatience; }

void Attachment::listen_to_calls(bool on) const {
  for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API})
    cuptiEnableDomain(on, subscriber_, domain);
}

std::int64_t Attachment::now() const { return is_attached() ? cupti_clock() : own_clock() + ahead_ns_; }

}  // namespace rocm_perf
