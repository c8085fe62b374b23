#include "cupti/attachment.h"

#include <time.h>

#include <chrono>
#include <initializer_list>
#include <thread>

namespace rocm_perf {
namespace {

constexpr std::uint32_t kDetachable = 24;  // CUDA 12.6: before it, graphs did not survive

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
  if (state_ != State::attached || !can_detach()) return;
  ahead_ns_ = cupti_clock() - own_clock();
  listen_to_calls(true);
  state_ = State::leaving;
}

bool Attachment::hold() {
  State leaving = State::leaving;
  if (state_.compare_exchange_strong(leaving, State::attached)) listen_to_calls(false);
  while (state_ == State::detaching) std::this_thread::sleep_for(std::chrono::microseconds(100));
  return state_ == State::detached && attach() == CUPTI_SUCCESS;
}

void Attachment::call_ended() {
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
