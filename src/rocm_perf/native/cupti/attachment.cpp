#include "cupti/attachment.h"

#include <time.h>
#include <unistd.h>

#include <chrono>
#include <initializer_list>
#include <thread>

#include "cupti/devices.h"

namespace rocm_perf {
namespace {

constexpr std::uint32_t kDetachable = 24;  // CUDA 12.6: before it, programs crashed when it was attached again
constexpr auto kGlance = std::chrono::microseconds(20);
constexpr std::int64_t kPatience = 2'000'000'000;

// Calls of this thread that are under way, since all are heard. CUPTI keeps eight bytes for each call itself, but may
// not have those of a call whose beginning it has not told of.
struct Nested {
  std::uint64_t mark;
  int calls;
};
thread_local Nested nested{};

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

std::vector<CallKind> call_kinds(CUpti_CallbackDomain domain, CUpti_CallbackId end) {
  Calls calls(domain);
  std::vector<CallKind> kinds(end);
  for (CUpti_CallbackId id = 1; id < end; ++id) kinds[id] = call_kind(calls.name(id));
  return kinds;
}

}  // namespace

Attachment::Attachment(CUpti_CallbackFunc called_back, void (*listen)(CUpti_SubscriberHandle), bool may_leave,
                       bool comes_back)
    : called_back_(called_back),
      listen_(listen),
      comes_back_(comes_back),
      can_leave_(may_leave && is_detachable()),
      ahead_ns_(cupti_clock() - own_clock()) {}

// CUPTI is subscribed to before anything is enabled: in the other order one program in five crashed (H200, CUDA 13.0).
CUptiResult Attachment::attach() {
  captures_ = 0;
  passed_since_ = 0;
  const CUptiResult result = cuptiSubscribe(&subscriber_, called_back_, nullptr);
  if (result != CUPTI_SUCCESS) return result;
  cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  ahead_ns_ = cupti_clock() - own_clock();
  if (can_leave_) hear(Heard::few);
  listen_(subscriber_);
  state_ = State::attached;
  return result;
}

// What was counted before is forgotten: ends of calls may not have been heard.
void Attachment::hear_all(bool on) {
  if (!can_leave() || state_ != State::attached || on == (heard_ == Heard::all)) return;
  if (on) {
    calls_ = 0;
    calls_heard_ = 0;
    hears_all_since_ = own_clock();
    ++mark_;
  }
  hear(on ? Heard::all : Heard::few);
}

bool Attachment::release() {
  hear_all(true);
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
  if (can_leave_.exchange(false)) hear(Heard::nothing);
  return true;
}

bool Attachment::hold() {
  while (is_leaving() && !stay()) std::this_thread::sleep_for(kGlance);
  return state_ == State::detached && attach() == CUPTI_SUCCESS;
}

CallKind Attachment::kind_of(CUpti_CallbackDomain domain, CUpti_CallbackId id) const {
  if (domain >= kDomains) return CallKind::other;
  return id < kinds_[domain].size() ? kinds_[domain][id] : CallKind::other;
}

void Attachment::called(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (!can_leave_) return;
  const CallKind kind = kind_of(domain, id);
  has_runtime_ = has_runtime_ || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  note(kind, call.callbackSite);
  if (heard_ != Heard::all) return;
  if (nested.mark != mark_) nested = {mark_, 0};
  if (call.callbackSite == CUPTI_API_ENTER) {
    ++nested.calls;
    ++calls_;
    ++calls_heard_;
    return;
  }
  if (nested.calls == 0) return;  // it began before all were heard
  --nested.calls;
  if (--calls_ == 0 && may_detach(domain, kind, call)) detach();
}

void Attachment::called_by(std::uint32_t thread) {
  std::uint32_t none = 0;
  if (thread_ != thread && !thread_.compare_exchange_strong(none, thread)) has_threads_ = true;
}

void Attachment::note(CallKind kind, CUpti_ApiCallbackSite site) {
  thread_local const auto me = static_cast<std::uint32_t>(gettid());
  called_by(me);
  if (kind == CallKind::other) return;
  if (kind == CallKind::graph) has_graphs_ = true;
  if (kind == CallKind::capture_begin && site == CUPTI_API_ENTER) ++captures_;
  if (kind == CallKind::capture_end && site == CUPTI_API_EXIT && captures_ > 0) --captures_;
}

// Not at the end of a driver's function that may have been called by one of the runtime, before whose beginning not all
// were heard. Beside graphs at the end of a wait, where none is being captured: waiting for the GPU would break that.
bool Attachment::may_detach(CUpti_CallbackDomain domain, CallKind kind, const CUpti_CallbackData& call) {
  if (state_ != State::leaving || why_it_stays()) return false;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && has_runtime_) return false;
  const auto* const result = static_cast<const int*>(call.functionReturnValue);
  const bool has_waited = kind == CallKind::wait && result && *result == 0 && captures_ == 0;
  if (!has_graphs_ || has_waited) return true;
  std::int64_t never = 0;
  passed_since_.compare_exchange_strong(never, own_clock());
  return false;
}

const char* Attachment::why_it_stays() const {
  if (has_threads_) return "it cannot be detached safely where several threads call CUDA";
  if (has_graphs_ && comes_back_) return "it cannot be detached and attached again safely beside CUDA graphs";
  if (waits_in_vain()) return "beside CUDA graphs it can be detached only where the one GPU is waited for";
  return nullptr;
}

bool Attachment::waits_in_vain() const { return passed_since_ && own_clock() - passed_since_ > kPatience; }

void Attachment::detach() {
  State leaving = State::leaving;
  if (!state_.compare_exchange_strong(leaving, State::detaching)) return;
  const bool is_idle = !has_graphs_ || finish_work();
  if (!is_idle || calls_ || why_it_stays()) {
    state_ = State::leaving;
    return;
  }
  cuptiFinalize();
  state_ = State::detached;
}

void Attachment::hear(Heard what) {
  if (kinds_[CUPTI_CB_DOMAIN_RUNTIME_API].empty()) {
    kinds_[CUPTI_CB_DOMAIN_RUNTIME_API] = call_kinds(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
    kinds_[CUPTI_CB_DOMAIN_DRIVER_API] = call_kinds(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
  }
  heard_ = what;
  for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
    cuptiEnableDomain(what == Heard::all, subscriber_, domain);
    for (CUpti_CallbackId id = 1; what == Heard::few && id < kinds_[domain].size(); ++id)
      if (kinds_[domain][id] != CallKind::other) cuptiEnableCallback(1, subscriber_, domain, id);
  }
}

double Attachment::calls_per_ns() const {
  const std::int64_t passed = own_clock() - hears_all_since_;
  return heard_ == Heard::all && passed > 0 ? static_cast<double>(calls_heard_) / static_cast<double>(passed) : 0;
}

std::int64_t Attachment::now() const { return is_attached() ? cupti_clock() : own_clock() + ahead_ns_; }

}  // namespace rocm_perf
