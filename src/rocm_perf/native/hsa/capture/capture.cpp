// Captures one kernel dispatch of an HSA (HIP, OpenMP) program: loaded by the runtime as a tools library, it watches
// memory, code and queues through the API table, and around the dispatch saves what the kernel reads and changes.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capture/account.h"
#include "capture/mover.h"
#include "common/environment.h"
#include "hsa/capture/facts.h"
#include "hsa/capture/packets.h"
#include "hsa/capture/queues.h"
#include "hsa/capture/watch.h"

namespace rocm_perf {
namespace {

void on_packets(const void* packets, std::uint64_t count, std::uint64_t, void* queue,
                hsa_amd_queue_intercept_packet_writer writer);

class Capture {
 public:
  explicit Capture(const HsaApiTable& table)
      : pid_(::getpid()),
        folder_(environment("ROCM_PERF_CAPTURE_DIR") + "/" + std::to_string(pid_)),
        watch_(api_of(table), target_),
        queues_(watch_.api, on_packets) {
    if (::mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST)
      throw std::runtime_error("cannot make " + folder_ + ": " + std::strerror(errno));
  }

  void install(HsaApiTable& table) {
    queues_.install(table);
    watch_.install(table);
  }

  // Every packet of every queue passes here, in the thread that rang the doorbell.
  void submitted(const Queue& queue, const Packet* packets, std::uint64_t count,
                 hsa_amd_queue_intercept_packet_writer writer) {
    for (std::uint64_t index = 0; index < count; ++index) {
      if (!is_dispatch(packets[index])) continue;
      const Kernel* kernel = watch_.kernels.find(packets[index].dispatch.kernel_object);
      if (!kernel) {
        ++unknown_;
      } else if (target_.meets(kernel->symbol.c_str(), shape_of(packets[index].dispatch))) {
        return take(queue, {packets, packets + count}, index, *kernel, writer);
      }
    }
    pass(queue, packets, count, writer);
  }

  void ended() {
    if (::getpid() == pid_ && phase() != Phase::during && !account_.captured()) report();
  }

 private:
  enum class Phase { before, during, after };

  static Shape shape_of(const hsa_kernel_dispatch_packet_t& packet) {
    return {packet.grid_size_x,      packet.grid_size_y,      packet.grid_size_z,       packet.workgroup_size_x,
            packet.workgroup_size_y, packet.workgroup_size_z, packet.group_segment_size};
  }

  Phase phase() {
    std::shared_lock<std::shared_mutex> hold(phase_mutex_);
    return phase_;
  }
  void set(Phase phase) {
    std::lock_guard<std::shared_mutex> hold(phase_mutex_);
    phase_ = phase;
  }

  // A batch without the chosen dispatch. While memory must stand still, it is held back, and what its queue had before
  // is told when it has ended. No barrier can be put behind a single-producer queue later, so each batch brings one.
  void pass(const Queue& queue, const Packet* packets, std::uint64_t count,
            hsa_amd_queue_intercept_packet_writer writer) {
    Phase now;
    {
      std::shared_lock<std::shared_mutex> hold(phase_mutex_);  // so that a capture begins with every batch counted
      now = phase_;
      if (now == Phase::before && queue.single()) queues_.expect(queue);
    }
    if (now == Phase::after || (now == Phase::before && !queue.single())) return writer(packets, count);
    std::vector<Packet> out;
    if (now == Phase::during && !queue.single()) out.push_back(packet_of(barrier({0}, queue.drained)));
    if (now == Phase::during) out.push_back(packet_of(barrier(release_, {0})));
    out.insert(out.end(), packets, packets + count);
    if (now == Phase::before) out.push_back(packet_of(barrier({0}, queue.drained)));
    writer(out.data(), out.size());
  }

  void take(const Queue& queue, std::vector<Packet> packets, std::uint64_t index, const Kernel& kernel,
            hsa_amd_queue_intercept_packet_writer writer) {
    launch_ = target_.launches();
    Barriers signals;
    try {
      draft_ = std::make_unique<Draft>(folder_);
      copier_ = std::make_unique<Copier>(watch_.api, watch_.devices());
      describe(queue, packets[index].dispatch, kernel);
      signals = {signal(), signal(), signal(), release_ = signal()};
    } catch (const std::exception& error) {
      fail(error);
      report();
      set(Phase::after);
      return writer(packets.data(), packets.size());
    }
    std::vector<Packet> split = with_barriers(packets, index, signals);
    set(Phase::during);
    writer(split.data(), split.size());
    std::unique_lock<std::shared_mutex> still(watch_.still, std::defer_lock);
    try {
      save(queue, signals, still);
    } catch (const std::exception& error) {
      fail(error);
    }
    mover_.reset();
    for (char* buffer : buffers_) watch_.api.hsa_amd_memory_pool_free(buffer);
    report();
    if (account_.captured() && switched_on("ROCM_PERF_CAPTURE_STOP_AFTER")) ::_exit(0);
    watch_.api.hsa_signal_store_screlease(signals.go, 0);
    watch_.api.hsa_signal_store_screlease(signals.release, 0);
    set(Phase::after);
  }

  // Where the disk was full, there is room again to say so.
  void fail(const std::exception& error) {
    account_.failed(error);
    for (const Region& region : regions_) region.discard();
    for (const char* name : {"kernarg.bin", "kernel.hsaco", "dispatch.json", "memory_regions.json"})
      ::unlink((folder_ + "/" + name).c_str());
  }

  void save(const Queue& queue, const Barriers& signals, std::unique_lock<std::shared_mutex>& still) {
    double begun = seconds();
    drain(queue, signals.drained);
    still.lock();
    await_copies();
    double drained = seconds();
    account_.drain_s = drained - begun;
    choose_regions();
    mover_ = std::make_unique<Mover>([this](void* to, std::uint64_t from, std::size_t size) { read(to, from, size); },
                                     staging());
    for (Region& region : regions_) {
      region.save_before(*mover_);
      account_.bytes += region.saved().allocation.size;
    }
    double released = seconds();
    account_.before_s = released - drained;
    watch_.api.hsa_signal_store_screlease(signals.go, 0);
    if (!wait_until(signals.done, released + patience()))
      throw std::runtime_error("the kernel did not end within " + patience_text() + " while all else was held back: " +
                               "it may need another queue or the host; if it is only slow, set " + kPatience);
    double finished = seconds();
    account_.kernel_s = finished - released;
    if (switched_on("ROCM_PERF_CAPTURE_OUTPUTS"))
      for (Region& region : regions_)
        if (region.saved().allocation.kind != "kernarg") region.save_after(*mover_);  // the host fills that meanwhile
    account_.after_s = seconds() - finished;
    std::vector<Saved> saved;
    for (const Region& region : regions_) saved.push_back(region.saved());
    for (const Allocation& one : uncovered_) saved.push_back({one, false, {}});
    draft_->write_regions(saved);
    account_.state = "captured";
  }

  hsa_signal_t signal() {
    hsa_signal_t out{};
    check(watch_.api, watch_.api.hsa_signal_create(1, 0, nullptr, &out), "no signal");
    return out;  // packets keep pointing to it: it lives as long as the process
  }

  static constexpr char kPatience[] = "ROCM_PERF_CAPTURE_DRAIN_S";
  static double patience() { return std::strtod(environment(kPatience, "60").c_str(), nullptr); }
  static std::string patience_text() { return environment(kPatience, "60") + " s"; }

  // HSA counts its own ticks in a wait, so time is kept here.
  bool wait_until(hsa_signal_t one, double deadline) const {
    constexpr std::uint64_t kTicks = 1000 * 1000;
    while (watch_.api.hsa_signal_wait_scacquire(one, HSA_SIGNAL_CONDITION_LT, 1, kTicks, HSA_WAIT_STATE_BLOCKED) >= 1)
      if (seconds() > deadline) return false;
    return true;
  }

  // Everything that was submitted before, in every queue, has ended.
  void drain(const Queue& own, hsa_signal_t own_drained) {
    std::vector<hsa_signal_t> others = queues_.others(own);
    // Not in this thread: a doorbell rung inside an interception is put off.
    std::thread([&] { queues_.put_barriers(own); }).join();
    double deadline = seconds() + patience();
    bool drained = wait_until(own_drained, deadline);
    for (hsa_signal_t other : others) drained = drained && wait_until(other, deadline);
    if (!drained)
      throw std::runtime_error("the program's queues did not become empty within " + patience_text() +
                               "; where kernels take longer, set " + kPatience);
  }

  void await_copies() {
    double deadline = seconds() + 1;
    std::size_t open = 0;
    for (hsa_signal_t copy : watch_.copies()) open += wait_until(copy, deadline) ? 0 : 1;
    if (open)
      account_.notes.push_back(std::to_string(open) + " copies were still under way when the kernel was captured");
  }

  void read(void* to, std::uint64_t from, std::size_t size) const {
    auto held = watch_.live.holding(from);
    const auto& gpus = const_cast<Watch&>(watch_).devices().gpus();
    bool elsewhere = held && held->uncovered.empty() && static_cast<std::size_t>(held->device) < gpus.size();
    if (kernarg_on_host_ && held && held->base == kernarg_on_host_) {
      std::memcpy(to, reinterpret_cast<const void*>(from), size);
    } else {
      copier_->to_host(to, from, size, elsewhere ? gpus[static_cast<std::size_t>(held->device)].agent : agent_);
    }
  }

  std::vector<char*> staging() {
    for (std::size_t slot = 0; slot < Mover::kSlots; ++slot)
      buffers_.push_back(watch_.devices().staging(Mover::kPiece));
    return buffers_;
  }

  void describe(const Queue& queue, const hsa_kernel_dispatch_packet_t& dispatch, const Kernel& kernel) {
    if (!kernel.code) throw std::runtime_error("the code of " + kernel.symbol + " was not seen when it was loaded");
    agent_ = queue.agent;
    kernarg_ = reinterpret_cast<std::uint64_t>(dispatch.kernarg_address);
    arguments_ = arguments_of(dispatch, kernel);
    variables_ = watch_.kernels.variables_of(kernel);
    refuse_uncovered();
    draft_->write("kernarg.bin", arguments_.data(), arguments_.size());
    draft_->write("kernel.hsaco", *kernel.code);
    draft_->write("dispatch.json", dispatch_json(queue, dispatch, kernel));
  }

  std::vector<char> arguments_of(const hsa_kernel_dispatch_packet_t& dispatch, const Kernel& kernel) {
    std::vector<char> out(kernel.kernarg_bytes, 0);
    auto address = reinterpret_cast<std::uint64_t>(dispatch.kernarg_address);
    if (out.empty()) return out;
    if (!address) throw std::runtime_error("the dispatch has no arguments, although its kernel takes some");
    auto held = watch_.live.holding(address);
    if (held && held->uncovered.empty()) {  // arguments in device memory
      char* buffer = watch_.devices().staging(out.size());
      copier_->to_host(buffer, address, out.size(), agent_);
      std::memcpy(out.data(), buffer, out.size());
      watch_.api.hsa_amd_memory_pool_free(buffer);
    } else {
      std::memcpy(out.data(), dispatch.kernarg_address, out.size());
    }
    return out;
  }

  void refuse_uncovered() {
    if (switched_on("ROCM_PERF_CAPTURE_ALLOW_UNCOVERED")) return;
    for (std::uint64_t word : words(arguments_.data(), arguments_.size())) {
      auto held = watch_.live.holding(word);
      if (held && !held->uncovered.empty())
        throw Refused("an argument (0x" + hex(word) + ") points into " + held->kind + " memory: " + held->uncovered);
    }
  }

  // Only when memory stands still: until then the program may free it, or kernels write the pointers to it.
  void choose_regions() {
    std::vector<Allocation> covered;
    for (Allocation& one : watch_.live.all()) {
      bool arguments_here = kernarg_ >= one.base && kernarg_ < one.end();
      if (arguments_here && !one.uncovered.empty()) {
        kernarg_on_host_ = one.base;
        regions_.emplace_back(*draft_, Allocation{one.base, one.size, "kernarg", 0, "", ""});
      } else {
        (one.uncovered.empty() ? covered : uncovered_).push_back(one);
      }
    }
    int device = std::max(watch_.devices().index_of(agent_), 0);
    for (const Variable& one : variables_)
      regions_.emplace_back(*draft_, Allocation{one.address, one.size, "global", device, one.name, ""});
    if (switched_on("ROCM_PERF_CAPTURE_REACHABLE_ONLY")) covered = reachable();
    for (Allocation& one : covered) regions_.emplace_back(*draft_, std::move(one));
  }

  // What the arguments and the variables point into, and what the words of that memory point into, and so on.
  std::vector<Allocation> reachable() {
    std::map<std::uint64_t, Allocation> found;
    std::deque<Allocation> open;
    auto follow = [&](const std::vector<std::uint64_t>& pointers) {
      for (std::uint64_t word : pointers) {
        auto held = watch_.live.holding(word);
        if (held && held->uncovered.empty() && found.emplace(held->base, *held).second) open.push_back(*held);
      }
    };
    char* piece = watch_.devices().staging(Mover::kPiece);
    auto scan = [&](std::uint64_t base, std::uint64_t size) {
      for (std::uint64_t at = 0; at < size; at += Mover::kPiece) {
        std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(Mover::kPiece, size - at));
        read(piece, base + at, length);
        follow(words(piece, length));
      }
    };
    follow(words(arguments_.data(), arguments_.size()));
    follow({kernarg_});
    for (const Variable& one : variables_) scan(one.address, one.size);
    for (; !open.empty(); open.pop_front()) scan(open.front().base, open.front().size);
    watch_.api.hsa_amd_memory_pool_free(piece);
    std::vector<Allocation> out;
    for (auto& entry : found) out.push_back(entry.second);
    return out;
  }

  std::string dispatch_json(const Queue& queue, const hsa_kernel_dispatch_packet_t& packet, const Kernel& kernel) {
    bool known = watch_.live.holding(kernarg_).has_value();  // else its memory does not come back in a replay
    return "{\"version\": 1, \"vendor\": \"AMD\", \"kernel\": " + quoted(kernel.symbol) +
           ", \"name\": " + quoted(demangled(kernel.symbol)) + ", \"dispatch\": " + std::to_string(target_.matched()) +
           ", \"launch\": " + std::to_string(launch_) + ", " + geometry_json(packet, kernel.group_bytes) +
           ", \"kernarg\": {\"size\": " + std::to_string(kernel.kernarg_bytes) +
           ", \"address\": " + (known ? quoted_hex(kernarg_) : "null") +
           "}, \"parameters\": [], \"device\": " + device_json(watch_.devices(), agent_) +
           ", \"driver\": \"amdgpu\", \"runtime\": " + quoted(runtime_version(watch_.api)) +
           ", \"attributes\": {\"cooperative\": " + (queue.type == kCooperative ? "true" : "false") +
           ", \"cluster\": [1, 1, 1]}, \"kernel_object\": " + quoted_hex(packet.kernel_object) +
           ", \"code_object\": \"kernel.hsaco\", \"pid\": " + std::to_string(pid_) +
           ", \"command\": " + command_json() + "}\n";
  }

  void report() const {
    std::vector<std::string> also;
    if (unknown_) also.push_back(std::to_string(unknown_) + " dispatches of kernels that were loaded unseen");
    if (!queues_.unseen().empty()) also.push_back(queues_.unseen());
    account_.write(folder_, target_, also);
  }

  static constexpr hsa_queue_type32_t kCooperative = 2;  // HSA_QUEUE_TYPE_COOPERATIVE

  pid_t pid_;
  std::string folder_;
  Target target_;
  Watch watch_;
  Queues queues_;
  std::atomic<std::uint64_t> unknown_{0};
  std::shared_mutex phase_mutex_;
  Phase phase_ = Phase::before;
  hsa_signal_t release_{};

  hsa_agent_t agent_{};  // of the captured dispatch
  std::uint64_t launch_ = 0, kernarg_ = 0, kernarg_on_host_ = 0;
  std::vector<char> arguments_;
  std::vector<Variable> variables_;
  std::unique_ptr<Draft> draft_;
  std::unique_ptr<Copier> copier_;
  std::unique_ptr<Mover> mover_;
  std::vector<char*> buffers_;
  std::deque<Region> regions_;
  std::vector<Allocation> uncovered_;
  Account account_;
};

Capture* capture = nullptr;  // lives as long as the process: packets may come during its end

void on_packets(const void* packets, std::uint64_t count, std::uint64_t, void* queue,
                hsa_amd_queue_intercept_packet_writer writer) {
  capture->submitted(*static_cast<const Queue*>(queue), static_cast<const Packet*>(packets), count, writer);
}

// Whichever way the table comes first; the second way would find our own calls in it.
bool start(HsaApiTable& table) {
  if (capture) return true;
  try {
    capture = new Capture(table);
    capture->install(table);
  } catch (const std::exception& error) {
    complain(error.what());
    return false;
  }
  std::atexit([] { capture->ended(); });
  return true;
}

constexpr int kHsaTable = 1;  // ROCPROFILER_HSA_TABLE

void on_table(int kind, std::uint64_t, std::uint64_t, void** tables, std::uint64_t count, void*) {
  if (kind == kHsaTable && count > 0) start(*static_cast<HsaApiTable*>(tables[0]));
}

}  // namespace
}  // namespace rocm_perf

#define ROCM_PERF_EXPORT extern "C" __attribute__((visibility("default")))

// HSA_TOOLS_LIB
ROCM_PERF_EXPORT bool OnLoad(HsaApiTable* table, std::uint64_t, std::uint64_t, const char* const*) {
  return rocm_perf::start(*table);
}

ROCM_PERF_EXPORT void OnUnload() {
  if (rocm_perf::capture) rocm_perf::capture->ended();
}

// rocprofiler-register (ROCm 6 and later), which asks a tool by this name; then HSA_TOOLS_LIB is not looked at. The SDK
// is found at run time: it need not be there.
ROCM_PERF_EXPORT void* rocprofiler_configure(std::uint32_t, const char*, std::uint32_t, void*) {
  using OnTable = void (*)(int, std::uint64_t, std::uint64_t, void**, std::uint64_t, void*);
  using Ask = int (*)(OnTable, int, void*);
  auto ask = reinterpret_cast<Ask>(::dlsym(RTLD_DEFAULT, "rocprofiler_at_intercept_table_registration"));
  if (!ask || ask(rocm_perf::on_table, rocm_perf::kHsaTable, nullptr) != 0)
    rocm_perf::complain("rocprofiler-sdk does not hand over the HSA API table");
  return nullptr;
}
