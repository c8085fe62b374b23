// Captures one kernel launch of a CUDA program: loaded by the driver through CUDA_INJECTION64_PATH, it watches memory
// and modules through CUPTI, and around the chosen launch saves what the kernel reads, and what it changed.
#include <cupti.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capture/account.h"
#include "capture/mover.h"
#include "common/environment.h"
#include "cuda/capture/facts.h"
#include "cuda/capture/gate.h"
#include "cuda/capture/modules.h"
#include "cuda/capture/watch.h"

namespace rocm_perf {
namespace {

thread_local bool inside = false;  // calls that the capture makes itself are none of the program's

struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = before; }
  bool before = inside;
};

class Capture {
 public:
  Capture() : pid_(::getpid()), folder_(environment("ROCM_PERF_CAPTURE_DIR") + "/" + std::to_string(pid_)) {
    if (::mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST)
      throw std::runtime_error("cannot make " + folder_ + ": " + std::strerror(errno));
  }

  void subscribe(CUpti_SubscriberHandle handle) {
    handle_ = handle;
    auto watch = [&](const auto& calls) {
      for (CUpti_CallbackId call : calls) cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, call);
    };
    watch(kMemoryCalls);
    watch(kCopyCalls);
    watch(kModuleCalls);
    watch(kGraphCalls);
    watch(kLaunchCalls);
    for (CUpti_CallbackId event : {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                                   CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING})
      cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, event);
  }

  void called(CUpti_CallbackId call, const CUpti_CallbackData& data) {
    std::uint64_t& mark = *data.correlationData;
    if (data.callbackSite == CUPTI_API_ENTER) {
      gate_.enter();
      mark = kCounted;
      if (is_one_of(kModuleCalls, call)) modules_.will_load();
      if (is_one_of(kLaunchCalls, call)) launching(call, data);
      return;
    }
    if (mark == kChosen) after(succeeded(data));
    if (ends_recording(call) && data.functionReturnValue)
      memory_.recording_ended(*static_cast<CUresult*>(data.functionReturnValue));
    else if (succeeded(data))
      took_place(call, data);
    if (mark == kChosen || mark == kCounted) gate_.leave();  // else the call began before it was watched
  }

  void resource(CUpti_CallbackId event, const CUpti_ResourceData& data) {
    if (event == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
      auto* module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
      return modules_.loading(module->pCubin, module->cubinSize);
    }
    std::lock_guard<std::mutex> hold(contexts_mutex_);
    if (event == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) contexts_.insert(data.context);
    if (event != CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) return;
    contexts_.erase(data.context);
    live_.remove_of(reinterpret_cast<std::uint64_t>(data.context));
  }

  void ended() {
    if (::getpid() != pid_) return;
    std::lock_guard<std::mutex> hold(reporting_);
    if (capturing_) {  // the account is still that thread's
      Account cut;
      cut.begin();
      cut.end();
      write(cut);
    } else if (!account_.captured()) {
      write(account_);
    }
  }

 private:
  static bool succeeded(const CUpti_CallbackData& data) {
    return data.functionReturnValue && *static_cast<CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
  }

  template <std::size_t Count>
  static bool is_one_of(const CUpti_CallbackId (&calls)[Count], CUpti_CallbackId call) {
    return std::find(std::begin(calls), std::end(calls), call) != std::end(calls);
  }

  static int current_device() {
    Inside own;
    CUdevice device = 0;
    return driver().context_device(&device) == CUDA_SUCCESS ? device : 0;
  }

  void took_place(CUpti_CallbackId call, const CUpti_CallbackData& data) {
    if (is_one_of(kLaunchCalls, call)) {
      if (modules_.awaits_names() && data.symbolName) {
        Inside own;
        modules_.became(module_of(launch_of(call, data.functionParams).function), data.symbolName);
      }
    } else if (is_one_of(kModuleCalls, call)) {
      modules_.became(module_loaded_by(call, data.functionParams));
    } else if (is_one_of(kMemoryCalls, call)) {
      memory_.took_place(call, data.functionParams, current_device(), data.context);
    } else if (is_graph_launch(call)) {
      ++graph_launches_;
    } else if (is_one_of(kGraphCalls, call)) {
      memory_.recording_began();
    }
  }

  void launching(CUpti_CallbackId call, const CUpti_CallbackData& data) {
    if (!data.symbolName) return;
    Launch launch = launch_of(call, data.functionParams);
    if (!target_.meets(data.symbolName, shape_of(launch), [&] { return runs_now(launch.stream); })) return;
    *data.correlationData = kChosen;
    before(launch, data.symbolName);
  }

  static Shape shape_of(const Launch& launch) {
    return {launch.blocks[0], launch.blocks[1], launch.blocks[2],  launch.block[0],
            launch.block[1],  launch.block[2],  launch.dynamic_lds};
  }

  // Not where it, or anything else, is being recorded into a graph: waiting for the GPU would spoil the recording.
  bool runs_now(CUstream stream) {
    Inside own;
    if (memory_.is_recorded(stream)) return ++graphed_, false;
    return memory_.recordings() == 0 || (++beside_, false);
  }

  void hold_others(double deadline) {
    gate_.shut();
    cuptiEnableDomain(1, handle_, CUPTI_CB_DOMAIN_DRIVER_API);
    gate_.await_others(deadline);
  }

  void let_others_go() {
    cuptiEnableDomain(0, handle_, CUPTI_CB_DOMAIN_DRIVER_API);
    gate_.open();
  }

  void before(const Launch& launch, const char* symbol) {
    Inside own;
    {
      std::lock_guard<std::mutex> hold(reporting_);
      capturing_ = true;
    }
    account_.begin();
    double begun = seconds();
    try {
      hold_others(begun + patience());
      if (memory_.recordings() > 0)  // waiting for the GPU would spoil it
        throw std::runtime_error("another thread began to have a stream recorded into a graph at the same moment");
      drain("the program's earlier work");
      double drained = seconds();
      account_.drain_s = drained - begun;
      draft_ = std::make_unique<Draft>(folder_);
      describe(launch, symbol);
      mover_ = std::make_unique<Mover>(read_device, staging());
      for (Region& region : regions_) {
        region.save_before(*mover_);
        account_.bytes += region.saved().allocation.size;
      }
      launched_at_ = seconds();
      account_.before_s = launched_at_ - drained;
    } catch (const std::exception& error) {
      failed(error);
      let_others_go();  // at once: the launch itself may wait for what they do
    }
  }

  void after(bool launched) {
    if (!account_.reason.empty()) return;  // it failed before the launch, and has said so
    Inside own;
    try {
      if (!launched) throw std::runtime_error("the program's own launch failed");
      save_outputs();
      clean_up();
      report();
      if (switched_on("ROCM_PERF_CAPTURE_STOP_AFTER")) ::_exit(0);
    } catch (const std::exception& error) {
      failed(error);
    }
    let_others_go();
  }

  void save_outputs() {
    drain("the kernel");
    double done = seconds();
    account_.kernel_s = done - launched_at_;
    if (switched_on("ROCM_PERF_CAPTURE_OUTPUTS"))
      for (Region& region : regions_) region.save_after(*mover_);
    account_.after_s = seconds() - done;
    std::vector<Saved> saved;
    for (const Region& region : regions_) saved.push_back(region.saved());
    for (const Allocation& one : uncovered_) saved.push_back({one, false, {}});
    draft_->write_regions(saved);
    account_.state = "captured";
  }

  void failed(const std::exception& error) {
    account_.failed(error);
    for (const Region& region : regions_) region.discard();
    clean_up();
    report();
  }

  void clean_up() {
    mover_.reset();
    for (char* buffer : buffers_) driver().host_free(buffer);
    buffers_.clear();
  }

  static double patience() { return std::strtod(environment("ROCM_PERF_CAPTURE_DRAIN_S", "60").c_str(), nullptr); }

  // Everything that was launched before, in every context, has ended. In a thread of its own: what waits for one of the
  // threads that are kept out never ends, and there is no waiting for a GPU with a limit.
  void drain(const std::string& what) {
    std::set<CUcontext> contexts;
    {
      std::lock_guard<std::mutex> hold(contexts_mutex_);
      contexts = contexts_;
    }
    CUcontext own = nullptr;  // one that CUPTI did not announce
    if (driver().context_get(&own) == CUDA_SUCCESS && own) contexts.insert(own);
    auto done = std::make_shared<std::promise<CUresult>>();
    std::future<CUresult> result = done->get_future();
    std::thread([done, contexts] {
      Inside own;
      CUresult first = CUDA_SUCCESS;
      for (CUcontext context : contexts) {
        if (driver().context_push(context) != CUDA_SUCCESS) continue;
        CUresult one = driver().context_synchronize();
        driver().context_pop(&context);
        if (first == CUDA_SUCCESS) first = one;
      }
      done->set_value(first);
    }).detach();
    if (result.wait_for(std::chrono::duration<double>(patience())) != std::future_status::ready)
      throw std::runtime_error(what + " did not end in time: does it wait for another thread of the program?");
    driver().check(result.get(), what + " failed");
  }

  static void read_device(void* to, std::uint64_t from, std::size_t size) {
    driver().check(driver().copy_to_host(to, from, size), "cannot read device memory");
  }

  std::vector<char*> staging() {
    for (std::size_t slot = 0; slot < Mover::kSlots; ++slot) {
      void* memory = nullptr;
      driver().check(driver().host_allocate(&memory, Mover::kPiece, 0), "no host memory for copies");
      buffers_.push_back(static_cast<char*>(memory));
    }
    return buffers_;
  }

  void describe(const Launch& launch, const std::string& symbol) {
    Layout layout = layout_of(launch.function);
    std::vector<char> arguments = arguments_of(launch, layout);
    CUmodule module = module_of(launch.function);  // code that is loaded when first needed is loaded now
    if (modules_.awaits_names()) modules_.became(module, symbol);
    const Cubin& cubin = modules_.code_of(symbol, module);
    std::vector<Allocation> variables = variables_of(cubin, module);
    choose_regions(arguments, variables);
    for (Allocation& one : variables) regions_.emplace_back(*draft_, std::move(one));
    draft_->write("kernarg.bin", arguments.data(), arguments.size());
    draft_->write("kernel.cubin", cubin.bytes().data(), cubin.bytes().size());
    draft_->write("dispatch.json", dispatch_json(launch, symbol, target_, layout, arguments.size()));
  }

  void choose_regions(const std::vector<char>& arguments, const std::vector<Allocation>& variables) {
    std::vector<Allocation> covered;
    for (const Allocation& one : live_.all()) (one.uncovered.empty() ? covered : uncovered_).push_back(one);
    if (!switched_on("ROCM_PERF_CAPTURE_ALLOW_UNCOVERED"))
      for (std::uint64_t word : words(arguments.data(), arguments.size())) refuse_uncovered(word, variables);
    if (switched_on("ROCM_PERF_CAPTURE_REACHABLE_ONLY")) covered = reachable(arguments, variables);
    for (Allocation& one : covered) regions_.emplace_back(*draft_, std::move(one));
  }

  void refuse_uncovered(std::uint64_t word, const std::vector<Allocation>& variables) const {
    auto held = live_.holding(word);
    if (held && held->uncovered.empty()) return;
    std::string where = "an argument (0x" + hex(word) + ") points into ";
    if (held) throw Refused(where + held->kind + " memory: " + held->uncovered);
    for (const Allocation& one : variables)
      if (word >= one.base && word < one.end()) return;
    unsigned kind =
        0;  // the driver knows memory that nobody here saw: a variable of other code, graphics, another pool
    if (driver().pointer_attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, word) == CUDA_SUCCESS && kind != 0)
      throw Refused(where + "memory that was not seen when it was allocated, or belongs to other code");
  }

  // What the arguments and the module's variables point into, what the words of that memory point into, and so on.
  std::vector<Allocation> reachable(const std::vector<char>& arguments, const std::vector<Allocation>& variables) {
    std::map<std::uint64_t, Allocation> found;
    std::deque<Allocation> open(variables.begin(), variables.end());
    auto follow = [&](const std::vector<std::uint64_t>& pointers) {
      for (std::uint64_t word : pointers) {
        auto held = live_.holding(word);
        if (held && held->uncovered.empty() && found.emplace(held->base, *held).second) open.push_back(*held);
      }
    };
    follow(words(arguments.data(), arguments.size()));
    std::vector<char> content(Mover::kPiece);
    for (; !open.empty(); open.pop_front()) {
      Allocation one = open.front();
      for (std::uint64_t at = 0; at < one.size; at += content.size()) {
        auto size = static_cast<std::size_t>(std::min<std::uint64_t>(content.size(), one.size - at));
        read_device(content.data(), one.base + at, size);
        follow(words(content.data(), size));
      }
    }
    std::vector<Allocation> out;
    for (auto& entry : found) out.push_back(entry.second);
    return out;
  }

  std::vector<Allocation> variables_of(const Cubin& cubin, CUmodule module) {
    std::vector<Allocation> out;
    for (const Variable& variable : cubin.variables()) {
      CUdeviceptr address = 0;
      std::size_t size = 0;
      if (!module || driver().module_global(&address, &size, module, variable.name.c_str()) != CUDA_SUCCESS)
        uncovered_.push_back({0, variable.size, "global", 0, variable.name, "the driver does not tell its address"});
      else
        out.push_back({address, size, "global", current_device(), variable.name, ""});
    }
    return out;
  }

  void report() {
    std::lock_guard<std::mutex> hold(reporting_);
    write(account_);
    capturing_ = false;
  }

  void write(const Account& account) const {
    std::vector<std::string> also;
    auto tell = [&](std::uint64_t count, const std::string& what) {
      if (count) also.push_back(what + ": " + std::to_string(count));
    };
    tell(graph_launches_, "graph launches, whose kernels cannot be captured");
    tell(graphed_, "launches that match, but were only recorded into a graph");
    tell(beside_, "launches that match, but came while another stream was recorded into a graph");
    account.write(folder_, target_, also);
  }

  static constexpr std::uint64_t kChosen = 0x726f636d70657266, kCounted = 0x726f636d70657267;

  pid_t pid_;
  std::string folder_;
  CUpti_SubscriberHandle handle_ = nullptr;
  Target target_;
  Allocations live_;
  MemoryWatch memory_{live_};
  Modules modules_{target_};
  Gate gate_;
  std::mutex contexts_mutex_;
  std::set<CUcontext> contexts_;
  std::atomic<std::uint64_t> graph_launches_{0}, graphed_{0}, beside_{0};

  std::unique_ptr<Draft> draft_;
  std::unique_ptr<Mover> mover_;
  std::vector<char*> buffers_;
  std::deque<Region> regions_;
  std::vector<Allocation> uncovered_;
  Account account_;
  double launched_at_ = 0;
  std::mutex reporting_;  // for the file and for:
  bool capturing_ = false;
};

Capture* capture = nullptr;  // lives as long as the process: callbacks may come during its end

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  try {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && !inside)
      capture->called(id, *static_cast<const CUpti_CallbackData*>(data));
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) capture->resource(id, *static_cast<const CUpti_ResourceData*>(data));
  } catch (const std::exception& error) {  // the driver's frames lie below, which know no exceptions
    complain(error.what());
  }
}

}  // namespace
}  // namespace rocm_perf

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace rocm_perf;
  if (capture) return 1;
  try {
    capture = new Capture();
  } catch (const std::exception& error) {
    complain(error.what());
    return 0;
  }
  CUpti_SubscriberHandle handle = nullptr;
  CUptiResult result = cuptiSubscribe(&handle, on_callback, nullptr);
  if (result != CUPTI_SUCCESS) {
    const char* text = nullptr;
    cuptiGetResultString(result, &text);
    complain(std::string("CUPTI refuses: ") + (text ? text : "unknown error") + " (is another profiler attached?)");
    return 0;
  }
  capture->subscribe(handle);
  std::atexit([] { capture->ended(); });
  return 1;
}
