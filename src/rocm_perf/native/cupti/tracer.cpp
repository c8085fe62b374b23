// The tracer that CUDA's driver loads into the application (CUDA_INJECTION64_PATH) when it initialises. Records come
// from CUPTI in buffers; one thread of ours turns them into a file. Nothing here may fail the application, or keep it
// waiting.

#include <cupti.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cupti/activities.h"
#include "cupti/attachment.h"
#include "cupti/calls.h"
#include "cupti/devices.h"
#include "cupti/nvtx.h"
#include "cupti/recording.h"
#include "cupti/window.h"

namespace rocm_perf {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;      // small ones are complete, and so on disk, sooner
constexpr std::size_t kMostBuffers = 256;          // unwritten; beyond them CUPTI drops records, and counts them
constexpr std::int64_t kFlushEvery = 500'000'000;  // nanoseconds
constexpr std::int64_t kLinger = 1'000'000'000;  // after a window closed, so that work that was launched in it is seen
constexpr std::int64_t kLingerPart = 20;  // of a window that recurs: it lingers for so small a part of its length
constexpr std::int64_t kListenPart =
    240;  // of its period: for so long, at least, every call is heard before CUPTI goes
// Windows that recur may cost half a percent of the program's time: those of a program that launches all the time close
// early. What a record costs it, with its share of attaching and leaving, was measured in programs whose windows closed
// early (H200, CUDA 13.0: 1.3 to 1.6 us in one of CUDA graphs). Calls that are not recorded cost something, too: in a
// decode loop in torch, which makes 2,000 of them a step, so much for each that there would have been at the pace of
// the last time that all were heard, which is half the program's own.
constexpr std::int64_t kCostPart = 200;
constexpr std::int64_t kRecordCost = 1'400;  // nanoseconds, as is the next
constexpr std::int64_t kCallCost = 700;
constexpr std::int64_t kMostAhead = 500'000'000;    // that CUPTI is attached before its window opens
constexpr std::size_t kSmallBufferBytes = 1 << 17;  // so that records are counted soon
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

constexpr const char* kStayed = "CUPTI stayed in the program when nothing was recorded, where it makes calls dearer: ";

struct Buffer {
  std::uint8_t* data;
  std::size_t size;
};

class Tracer {
 public:
  Tracer(const Setup& setup, Attachment& attachment)
      : domains_(setup.domains),
        attachment_(attachment),
        window_(setup.window, setup.start.cupti_ns),
        recurs_(setup.window.recurs()),
        most_cost_(recurs_ ? setup.window.period_ns / kCostPart : INT64_MAX),
        least_linger_(std::min(kLinger, setup.window.period_ns / kListenPart)),
        buffer_bytes_(recurs_ ? kSmallBufferBytes : kBufferBytes),
        recording_(setup, [&attachment] { return attachment.now(); }),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void begin();  // records, where the window is open from the start; else waits for it
  std::uint8_t* empty_buffer();
  std::size_t buffer_bytes() const { return buffer_bytes_; }
  void take(Buffer buffer);
  void context_created(CUcontext context);
  void context_ends();
  void stop();               // at exit: everything that is there is written
  bool ends_by(int signal);  // whether the writer will flush and then let the signal do its work
  void range_opened();
  void range_closed();
  void called(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call) {
    attachment_.called(domain, id, call);
  }
  bool is_wanted(std::string_view range) const { return window_.is_named(range); }
  static void flush(bool forced) { cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0); }

 private:
  void start_writer();
  void wake() const;
  void write();
  void write_waiting();
  void write_next();
  void add(Buffer buffer);
  bool wait() const;
  void follow_window();
  std::int64_t ahead() const;
  std::int64_t cost() const;
  std::int64_t costly_from() const;
  void open();
  void close();
  void leave();
  void stay(const std::string& why);
  void record(bool on);
  void take_buffers_back();
  bool is_recording();
  bool uses_gpu() { return has_context_ = has_context_ || contexts() > 0; }
  void give_up(const std::string& why);
  void finish(int signal);

  const std::string domains_;
  Attachment& attachment_;
  Window window_;
  const bool recurs_;
  const std::int64_t most_cost_;  // of one window, in nanoseconds
  const std::int64_t least_linger_;
  const std::size_t buffer_bytes_;
  CallChoice calls_ = CallChoice::all;
  std::mutex switching_;  // of the next two
  bool is_recording_ = false;
  std::vector<std::string> refusals_;
  std::string stopped_;  // why recording ended before the program; of the writer, as is the next
  std::string stayed_;   // why CUPTI did, where it would have been detached
  Recording recording_;
  int wake_;
  std::once_flag started_;
  std::thread writer_;
  std::mutex mutex_;  // of what follows
  std::deque<Buffer> full_;
  std::vector<std::uint8_t*> empty_;
  std::set<std::uint8_t*> filling_;  // in the hands of CUPTI
  std::vector<std::pair<std::uint32_t, std::uint32_t>> contexts_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<int> signal_{0};
  std::atomic<bool> has_context_{false};
  std::atomic<std::int64_t> attaching_{0};  // nanoseconds that it took last
  std::int64_t last_change_ = 0;            // of the window; this and what follows is the writer's
  std::int64_t linger_ = kLinger;
  std::uint64_t records_before_ = 0;  // the window that is open
  double calls_per_ns_ = 0;           // when all were heard last
};

// Never destroyed: CUPTI may call until the very end.
Tracer* tracer = nullptr;
std::atomic<pid_t> owner{0};
thread_local bool is_writer = false;  // what CUPTI does there for us is not the program's

// A child of a fork has our memory but not our thread, and no CUDA: it records nothing.
bool ours() { return tracer && owner == getpid(); }
std::atomic<bool> is_child{false};  // for those that are called all the time: they do not ask the system

void flush_on_signals();

void say(const std::string& text) { std::fprintf(stderr, "rocm-perf: %s\n", text.c_str()); }

void say_unrecorded(const std::string& why) {
  say("the CUDA work of process " + std::to_string(getpid()) + " is not recorded: " + why);
}

std::string joined(const std::string& one, const std::string& other) {
  return one + (one.empty() || other.empty() ? "" : "; ") + other;
}

std::string words(CUptiResult result) {
  const char* text = nullptr;
  return cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text ? text : "CUPTI error " + std::to_string(result);
}

void Tracer::begin() {
  window_.tick(attachment_.now());
  const bool is_open = window_.state() == Window::State::open;
  calls_ = call_choice(domains_, is_open && !recurs_);
  if (is_open) record(true);
  if (!attachment_.is_attached()) start_writer();  // no context will be heard of
}

std::uint8_t* Tracer::empty_buffer() {
  const std::lock_guard lock(mutex_);
  if (stopping_ || filling_.size() + full_.size() >= kMostBuffers) return nullptr;
  if (empty_.empty()) empty_.push_back(static_cast<std::uint8_t*>(std::aligned_alloc(16, buffer_bytes_)));
  std::uint8_t* const buffer = empty_.back();
  empty_.pop_back();
  if (buffer) filling_.insert(buffer);
  return buffer;
}

// What was recorded while CUPTI leaves lies outside of every window.
void Tracer::take(Buffer buffer) {
  const bool is_wanted = attachment_.is_attached();
  std::size_t dropped = 0;
  if (is_wanted && cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) dropped_ += dropped;
  {
    const std::lock_guard lock(mutex_);
    if (!filling_.erase(buffer.data)) return;
    is_wanted ? full_.push_back(buffer) : empty_.push_back(buffer.data);
  }
  start_writer();
  wake();
}

// From a CUPTI that is gone, and what it handed over too late to be read: the names in it went, too.
void Tracer::take_buffers_back() {
  const std::lock_guard lock(mutex_);
  for (const Buffer& buffer : full_) empty_.push_back(buffer.data);
  empty_.insert(empty_.end(), filling_.begin(), filling_.end());
  full_.clear();
  filling_.clear();
}

void Tracer::context_created(CUcontext context) {
  has_context_ = true;
  std::uint32_t id = 0, device = 0;
  if (cuptiGetContextId(context, &id) == CUPTI_SUCCESS && cuptiGetDeviceId(context, &device) == CUPTI_SUCCESS) {
    const std::lock_guard lock(mutex_);
    contexts_.emplace_back(id, device);
  }
  start_writer();
}

void Tracer::context_ends() {
  if (attachment_.is_attached()) flush(false);
}

void Tracer::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(wake_, &one, sizeof one);
}

// No signal of the application may end up in our thread.
void Tracer::start_writer() {
  std::call_once(started_, [this] {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    writer_ = std::thread([this] { write(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    flush_on_signals();
  });
}

// Whether it was woken; false when it is time to ask CUPTI for what it has, or to open or close the window.
bool Tracer::wait() const {
  const std::int64_t now = attachment_.now();
  const std::int64_t rest = last_change_ + linger_ >= now ? last_change_ + linger_ : INT64_MAX;
  const std::int64_t early = ahead();
  const std::int64_t until_change = std::min({window_.next_change(now + early) - early, rest, costly_from()}) - now;
  const std::int64_t patience = std::clamp<std::int64_t>(until_change, 0, kFlushEvery);
  pollfd waiting{wake_, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(patience / 1'000'000 + 1)) <= 0) return false;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t ignored = ::read(wake_, &count, sizeof count);
  return true;
}

void Tracer::record(bool on) {
  const std::lock_guard lock(switching_);
  if (on == is_recording_) return;
  if (!on && window_.state() == Window::State::open) return;  // a range has opened it again just now
  const std::int64_t before = attachment_.now();
  const bool is_anew = on && attachment_.hold();
  if (is_anew) {
    take_buffers_back();
    recording_.attached_anew();
  }
  if (on && !attachment_.is_attached()) return;
  is_recording_ = on;
  if (on)
    refusals_ = enable_activities(domains_, calls_);
  else
    disable_activities(domains_, calls_);
  if (is_anew) attaching_ = attachment_.now() - before;
}

// How long before its time a window is made ready: where CUPTI has left, it takes as long as last time to come back.
std::int64_t Tracer::ahead() const {
  const bool must_come = attachment_.can_leave() && window_.state() != Window::State::open;
  return must_come ? std::min(attaching_.load(), kMostAhead) : 0;
}

// What the window that is open has taken of the program's time so far.
std::int64_t Tracer::cost() const {
  const auto records = static_cast<std::int64_t>(recording_.records() - records_before_);
  const auto calls = static_cast<std::int64_t>(calls_per_ns_ * static_cast<double>(attachment_.now() - last_change_));
  return records * kRecordCost + calls * kCallCost;
}

// When the window that is open has cost its share, if nothing is recorded and calls go on as they were heard.
std::int64_t Tracer::costly_from() const {
  const double cost_per_ns = calls_per_ns_ * kCallCost;
  if (!recurs_ || cost_per_ns <= 0 || window_.state() != Window::State::open) return INT64_MAX;
  return last_change_ + static_cast<std::int64_t>(static_cast<double>(most_cost_) / cost_per_ns);
}

void Tracer::open() {
  record(true);
  if (attachment_.is_attached() || !stopped_.empty()) return;
  give_up("CUPTI could not be attached (another profiler may have begun in the program)");
  say_unrecorded(stopped_);
}

void Tracer::close() {
  if (attachment_.can_leave()) leave();
  if (!attachment_.is_attached()) return;
  record(false);
  flush(false);  // a window that has closed is on disk before the next one opens
}

// Until a window opens again, CUPTI costs nothing. Everything is read before it goes: it owns the names in its records.
// Nothing is switched off before: that leaves a moment in which a graph may run, and fail afterwards.
void Tracer::leave() {
  flush(true);
  write_waiting();
  calls_per_ns_ = attachment_.calls_per_ns();
  const std::lock_guard lock(switching_);
  is_recording_ = !attachment_.release();
}

void Tracer::stay(const std::string& why) {
  const std::lock_guard lock(switching_);
  const bool was_released = attachment_.is_leaving();
  if (!attachment_.keep()) return;
  is_recording_ |= was_released;  // nothing was switched off
  stayed_ = why;
}

bool Tracer::is_recording() {
  const std::lock_guard lock(switching_);
  return is_recording_;
}

void Tracer::range_opened() {
  window_.range_opened(attachment_.now());
  if (window_.state() == Window::State::open) record(true);
}

void Tracer::range_closed() { window_.range_closed(attachment_.now()); }

// Recording goes on for a moment after the window closed; the reader leaves out what does not belong to it.
void Tracer::follow_window() {
  const bool is_near = window_.is_due(attachment_.now() + ahead());
  if (is_near) open();  // before it opens: what lies in it is recorded from its start
  const std::int64_t now = attachment_.now();
  window_.tick(now);
  for (const auto& [time, is_open] : window_.taken_changes()) {
    recording_.window_changed(time, is_open);
    if (is_open)
      records_before_ = recording_.records();
    else if (recurs_)
      linger_ = std::clamp((time - last_change_) / kLingerPart, least_linger_, kLinger);
    last_change_ = time;
  }
  const bool is_open = window_.state() == Window::State::open;
  if (is_open) open();
  attachment_.hear_all(!is_open && !is_near);
  const char* const why = attachment_.why_it_stays();
  if (stayed_.empty() && why) stay(why);
  if (!is_open && !is_near && now - last_change_ > linger_ && is_recording()) close();
}

void Tracer::give_up(const std::string& why) {
  if (!stopped_.empty()) return;
  stopped_ = why;
  window_.end(attachment_.now());
  if (is_recording()) close();
}

void Tracer::write() {
  is_writer = true;
  while (!stopping_ && !signal_) {
    if (!wait() && is_recording()) flush(false);
    uses_gpu();  // while its context is there
    follow_window();
    write_waiting();
    if (cost() >= most_cost_) window_.rest(attachment_.now());
    if (recording_.is_full()) give_up("it reached the size that was asked for");
    if (!recording_.error().empty()) give_up(recording_.error());
  }
  const int number = signal_;
  if (number && attachment_.is_attached()) flush(true);
  finish(number);
  if (number) {  // now it may end the process, as it would have without us
    ::signal(number, SIG_DFL);
    kill(getpid(), number);
  }
}

void Tracer::finish(int signal) {
  follow_window();
  const std::string account = joined(window_.account(attachment_.now()), stayed_.empty() ? "" : kStayed + stayed_);
  window_.end(attachment_.now());
  follow_window();  // with the end of a window that was still open
  write_waiting();
  if (uses_gpu()) recording_.finish({dropped_, signal, account, stopped_});
  if (!recording_.error().empty()) say("the recording is not whole: " + recording_.error());
}

// What is waiting now, not what comes meanwhile: that may come faster than it is written.
void Tracer::write_waiting() {
  std::size_t waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, device] : contexts_) recording_.context(id, device);
    contexts_.clear();
    waiting = full_.size();
  }
  for (; waiting && attachment_.is_attached(); --waiting) write_next();
  for (const std::uint32_t thread : recording_.callers())
    if (thread != static_cast<std::uint32_t>(gettid())) attachment_.called_by(thread);
  recording_.flush();
}

void Tracer::write_next() {
  Buffer buffer{};
  {
    const std::lock_guard lock(mutex_);
    buffer = full_.front();
    full_.pop_front();
  }
  if (buffer.size) add(buffer);
  const std::lock_guard lock(mutex_);
  empty_.push_back(buffer.data);
}

void Tracer::add(Buffer buffer) {
  if (!recording_.has_begun()) {
    const std::lock_guard lock(switching_);
    recording_.note_refusals(refusals_);
  }
  recording_.add(buffer.data, buffer.size);
}

void Tracer::stop() {
  {
    const std::lock_guard lock(switching_);
    if (attachment_.is_attached()) flush(true);
  }
  stopping_ = true;
  wake();
  if (writer_.joinable()) writer_.join();
}

// A second signal, or one during the exit, finds nobody to wait for.
bool Tracer::ends_by(int signal) {
  int none = 0;
  if (stopping_ || !signal_.compare_exchange_strong(none, signal)) return false;
  wake();
  return true;
}

// --- What CUPTI and the system call ---

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = tracer->empty_buffer();
  *size = *buffer ? tracer->buffer_bytes() : 0;
  *most_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (buffer) tracer->take({buffer, valid});
}

const RangeListener kListener = {[](std::string_view name) { return tracer->is_wanted(name); },
                                 [] { tracer->range_opened(); }, [] { tracer->range_closed(); }};

struct ProfilerCall {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  bool starts;
};

constexpr ProfilerCall kProfilerCalls[] = {
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000, true},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000, false},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, true},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, false},
};

// A program may call the runtime's function, which calls the driver's, or the driver's alone; a second start changes
// nothing.
void hear_profiler(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  static std::atomic<bool> started{false};
  for (const ProfilerCall& call : kProfilerCalls) {
    if (call.domain != domain || call.id != id || started.exchange(call.starts) == call.starts) continue;
    call.starts ? tracer->range_opened() : tracer->range_closed();
  }
}

void hear_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (call.callbackSite == CUPTI_API_EXIT) hear_profiler(domain, id);
  tracer->called(domain, id, call);
}

void CUPTIAPI called_back(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (!tracer || is_child || is_writer) return;
  if (domain == CUPTI_CB_DOMAIN_NVTX) return hear_range(id, *static_cast<const CUpti_NvtxData*>(data), kListener);
  if (domain != CUPTI_CB_DOMAIN_RESOURCE) return hear_call(domain, id, *static_cast<const CUpti_CallbackData*>(data));
  const auto* resource = static_cast<const CUpti_ResourceData*>(data);
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) tracer->context_created(resource->context);
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) tracer->context_ends();
}

void at_exit() {
  if (ours()) tracer->stop();
}

void on_signal(int number) {
  if (ours() && tracer->ends_by(number)) return;
  ::signal(number, SIG_DFL);
  raise(number);
}

// Only where the application does not handle the signal itself: it would end without a chance to write.
void flush_on_signals() {
  for (const int number : kSignals) {
    struct sigaction present{};
    if (sigaction(number, nullptr, &present) != 0 || (present.sa_flags & SA_SIGINFO) || present.sa_handler != SIG_DFL)
      continue;
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

void listen(CUpti_SubscriberHandle subscriber) {
  cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
  cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
  const WindowSettings window = window_settings();
  if (window.range == kProfilerRange)
    for (const ProfilerCall& call : kProfilerCalls) cuptiEnableCallback(1, subscriber, call.domain, call.id);
  else if (!window.range.empty())
    listen_to_ranges(subscriber);
}

void start(const std::string& pattern, const std::string& domains) {
  const WindowSettings window = window_settings();
  static Attachment attachment(called_back, listen, window.is_limited() && window.range.empty(), window.recurs());
  const bool waits = window.delay_ns > 0 && attachment.can_wait();
  const CUptiResult result = waits ? CUPTI_SUCCESS : attachment.attach();
  if (result != CUPTI_SUCCESS) {
    say_unrecorded(words(result) + " (another profiler, such as torch.profiler, nsys or ncu, may be at work in it)");
    return;
  }
  Setup setup;
  setup.process = this_process();
  setup.path = expanded(pattern, setup.process);
  setup.domains = domains;
  setup.every_call = is_asked(domains, "hsa");
  setup.window = window;
  setup.start = now();
  cuptiGetVersion(&setup.cupti_version);
  tracer = new Tracer(setup, attachment);
  owner = getpid();
  pthread_atfork(nullptr, nullptr, [] { is_child = true; });
  tracer->begin();
  std::atexit(at_exit);
}

}  // namespace
}  // namespace rocm_perf

// CUDA's driver calls it once a process. 1: all is well.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* const pattern = std::getenv("ROCM_PERF_CUPTI_OUTPUT");
  const char* const domains = std::getenv("ROCM_PERF_CUPTI_DOMAINS");
  if (pattern && *pattern && rocm_perf::owner == 0)
    rocm_perf::start(pattern, domains ? domains : "kernel,hip,copy,marker");
  return 1;
}
