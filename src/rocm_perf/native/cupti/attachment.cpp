#include "cupti/attachment.h"

#include <time.h>

#include <chrono>
#include <initializer_list>
#include <thread>

namespace rocm_perf {
namespace {

constexpr std::uint32_t kDetachable = 24;        // CUDA 12.6: before it, programs crashed when it was attached again
constexpr std::int64_t kListening = 20'000'000;  // nanoseconds before it is detached: for a second thread to be heard

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

bool can_detach() {
  std::uint32_t version = 0;
  return cuptiGetVersion(&version) == CUPTI_SUCCESS && version >= kDetachable;
}

}  // namespace

CUptiResult Attachment::attach() {
  const CUptiResult result = cuptiSubscribe(&subscriber_, called_back_, nullptr);
  if (result != CUPTI_SUCCESS) return result;
  cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  ahead_ns_ = cupti_clock() - own_clock();
  listen_(subscriber_);
  state_ = State::attached;
  return result;
}

void Attachment::release() {
  if (state_ != State::attached || is_kept_ || !can_detach()) return;
  ahead_ns_ = cupti_clock() - own_clock();
  released_ = own_clock();
  state_ = State::leaving;
  listen_to_calls(true);
  if (is_kept_) stay();  // since just now
}

void Attachment::stay() {
  State leaving = State::leaving;
  if (!state_.compare_exchange_strong(leaving, State::attached)) return;
  listen_to_calls(false);
  if (!is_kept_) listen_(subscriber_);  // for single calls again
}

void Attachment::keep() {
  is_kept_ = true;
  stay();
}

bool Attachment::hold() {
  stay();
  while (state_ == State::detaching) std::this_thread::sleep_for(std::chrono::microseconds(100));
  return state_ == State::detached && attach() == CUPTI_SUCCESS;
}

void Attachment::called(CUpti_ApiCallbackSite site) {
  thread_local const char myself = 0;
  if (state_ != State::leaving) return;
  const void* caller = nullptr;
  if (!caller_.compare_exchange_strong(caller, &myself) && caller != &myself) return keep();
  if (site != CUPTI_API_EXIT || is_kept_ || own_clock() - released_ < kListening) return;
  State leaving = State::leaving;
  if (!state_.compare_exchange_strong(leaving, State::detaching)) return;
  cuptiFinalize();
  state_ = State::detached;
}

void Attachment::listen_to_calls(bool on) const {
  for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API})
    cuptiEnableDomain(on, subscriber_, domain);
}

std::int64_t Attachment::now() const { return is_attached() ? cupti_clock() : own_clock() + ahead_ns_; }

}  // namespace rocm_perf
