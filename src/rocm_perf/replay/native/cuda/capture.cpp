// Captures one kernel launch of a CUDA program: loaded by the driver through CUDA_INJECTION64_PATH, it watches memory
// and modules through CUPTI, and around the chosen launch saves what the kernel reads, and what it changed.
#include <cupti.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <set>

#include "../common/account.hpp"
#include "../common/mover.hpp"
#include "cubin.hpp"
#include "driver.hpp"
#include "launch.hpp"
#include "watch.hpp"

namespace rocm_perf {
namespace {

thread_local bool inside = false;  // calls that the capture makes itself are none of the program's

struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = false; }
};

class Capture {
 public:
  Capture() : pid_(::getpid()), folder_(environment("ROCM_PERF_CAPTURE_DIR") + "/" + std::to_string(pid_)) {
    if (::mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST)
      throw std::runtime_error("cannot make " + folder_ + ": " + std::strerror(errno));
  }

  void subscribe(CUpti_SubscriberHandle handle) {
    handle_ = handle;
    for (CUpti_CallbackId call : kMemoryCalls) cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, call);
    for (CUpti_CallbackId call : kLaunchCalls) cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, call);
    for (CUpti_CallbackId call : {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz})
      cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, call);
    for (CUpti_CallbackId event : {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                                   CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING})
      cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, event);
  }

  void called(CUpti_CallbackId call, const CUpti_CallbackData& data) {
    wait_while_another_thread_captures();
    if (is_launch(call)) return launched(call, data);
    if (data.callbackSite != CUPTI_API_EXIT || !succeeded(data)) return;
    if (call == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch || call == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz)
      ++graph_launches_;
    else
      memory_.took_place(call, data.functionParams, current_device());
  }

  void resource(CUpti_CallbackId event, const CUpti_ResourceData& data) {
    std::lock_guard<std::mutex> hold(modules_mutex_);
    if (event == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) contexts_.insert(data.context);
    if (event == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) contexts_.erase(data.context);
    if (event != CUPTI_CBID_RESOURCE_MODULE_LOADED) return;
    auto* module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
    Cubin cubin(module->pCubin, module->cubinSize);
    for (const std::string& kernel : cubin.kernels()) {
      if (!target_.matches(kernel)) continue;
      cubins_.push_back(std::move(cubin));  // one that matches may be launched: keep the whole
      return;
    }
  }

  void ended() {
    if (::getpid() == pid_ && !account_.captured()) report();
  }

 private:
  static bool succeeded(const CUpti_CallbackData& data) {
    return data.functionReturnValue && *static_cast<CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
  }

  static bool is_launch(CUpti_CallbackId call) {
    for (CUpti_CallbackId known : kLaunchCalls)
      if (known == call) return true;
    return false;
  }

  static int current_device() {
    Inside own;
    CUdevice device = 0;
    return driver().context_device(&device) == CUDA_SUCCESS ? device : 0;
  }

  void launched(CUpti_CallbackId call, const CUpti_CallbackData& data) {
    if (data.callbackSite == CUPTI_API_EXIT) {
      if (*data.correlationData == kChosen) after(succeeded(data));
      return;
    }
    *data.correlationData = 0;
    if (!data.symbolName) return;
    Launch launch = launch_of(call, data.functionParams);
    if (!target_.meets(data.symbolName, [&] { return runs_now(launch.stream); })) return;
    *data.correlationData = kChosen;
    before(launch, data.symbolName);
  }

  bool runs_now(CUstream stream) {
    Inside own;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (driver().stream_is_capturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE) {
      ++graphed_;
      return false;
    }
    return true;
  }

  // While one thread captures, calls of the others wait at their beginning: the memory must stand still.
  void wait_while_another_thread_captures() {
    if (!capturing_.load(std::memory_order_acquire) || std::this_thread::get_id() == capturer_) return;
    std::unique_lock<std::mutex> hold(pause_mutex_);
    resumed_.wait(hold, [this] { return !capturing_; });
  }

  void hold_others() {
    capturer_ = std::this_thread::get_id();
    capturing_ = true;
    cuptiEnableDomain(1, handle_, CUPTI_CB_DOMAIN_DRIVER_API);
  }

  void let_others_go() {
    cuptiEnableDomain(0, handle_, CUPTI_CB_DOMAIN_DRIVER_API);
    {
      std::lock_guard<std::mutex> hold(pause_mutex_);
      capturing_ = false;
    }
    resumed_.notify_all();
  }

  void before(const Launch& launch, const char* symbol) {
    Inside own;
    hold_others();
    double begun = seconds();
    try {
      drain();
      double drained = seconds();
      account_.drain_s = drained - begun;
      draft_ = std::make_unique<Draft>(folder_);
      describe(launch, symbol);
      mover_ = std::make_unique<Mover>(
          [](void* to, std::uint64_t from, std::size_t size) {
            driver().check(driver().copy_to_host(to, from, size), "cannot read device memory");
          },
          staging());
      for (Region& region : regions_) {
        region.save_before(*mover_);
        account_.bytes += region.saved().allocation.size;
      }
      account_.before_s = seconds() - drained;
      launched_at_ = seconds();
    } catch (const std::exception& error) {
      failed(error);
      report();
    }
  }

  void after(bool launched) {
    if (!account_.reason.empty()) return let_others_go();  // it failed before the launch, and has said so
    Inside own;
    try {
      if (!launched) throw std::runtime_error("the program's own launch failed");
      drain();
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
    } catch (const std::exception& error) {
      failed(error);
    }
    mover_.reset();
    for (char* buffer : buffers_) driver().host_free(buffer);
    report();
    if (account_.captured() && switched_on("ROCM_PERF_CAPTURE_STOP_AFTER")) ::_exit(0);
    let_others_go();
  }

  void failed(const std::exception& error) {
    account_.failed(error);
    for (const Region& region : regions_) region.discard();
  }

  // Everything that was launched before, in every context, has ended.
  void drain() {
    std::set<CUcontext> contexts;
    {
      std::lock_guard<std::mutex> hold(modules_mutex_);
      contexts = contexts_;
    }
    driver().check(driver().context_synchronize(), "the program's earlier work failed");
    for (CUcontext context : contexts) {
      if (driver().context_push(context) != CUDA_SUCCESS) continue;
      CUresult result = driver().context_synchronize();
      driver().context_pop(&context);
      driver().check(result, "the program's earlier work failed");
    }
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
    if (layout.empty() && launch.parameters && !launch.extra)
      throw std::runtime_error("this driver does not tell the kernel's parameters (CUDA 12.4 or newer does)");
    std::vector<char> arguments = arguments_of(launch, layout);
    module_of(launch.function);  // code that is loaded when it is first needed is loaded now, before the launch
    const Cubin& cubin = cubin_of(symbol);
    std::vector<Allocation> variables = variables_of(cubin, launch.function);
    choose_regions(arguments, variables);
    for (Allocation& one : variables) regions_.emplace_back(*draft_, std::move(one));
    draft_->write("kernarg.bin", arguments.data(), arguments.size());
    draft_->write("kernel.cubin", cubin.bytes().data(), cubin.bytes().size());
    draft_->write("dispatch.json", dispatch_json(launch, symbol, layout, arguments.size()));
  }

  const Cubin& cubin_of(const std::string& symbol) {
    std::lock_guard<std::mutex> hold(modules_mutex_);
    const Cubin* found = nullptr;
    int different = 0;
    for (const Cubin& cubin : cubins_) {
      if (!cubin.defines(symbol)) continue;
      if (!found || found->bytes() != cubin.bytes()) ++different;
      found = &cubin;
    }
    if (!found) throw std::runtime_error("the code of " + symbol + " was not seen when it was loaded");
    if (different > 1)
      account_.notes.push_back(std::to_string(different) + " modules define the kernel; the one loaded last was taken");
    return *found;
  }

  void choose_regions(const std::vector<char>& arguments, const std::vector<Allocation>& variables) {
    std::vector<Allocation> covered;
    for (const Allocation& one : live_.all()) (one.uncovered.empty() ? covered : uncovered_).push_back(one);
    for (std::uint64_t word : words(arguments.data(), arguments.size())) {
      auto held = live_.holding(word);
      if (!held || held->uncovered.empty() || switched_on("ROCM_PERF_CAPTURE_ALLOW_UNCOVERED")) continue;
      throw Refused("an argument (0x" + hex(word) + ") points into " + held->kind + " memory: " + held->uncovered);
    }
    if (switched_on("ROCM_PERF_CAPTURE_REACHABLE_ONLY")) covered = reachable(arguments, variables);
    for (Allocation& one : covered) regions_.emplace_back(*draft_, std::move(one));
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
    std::vector<char> content;
    while (!open.empty()) {
      Allocation one = open.front();
      open.pop_front();
      content.resize(one.size);
      driver().check(driver().copy_to_host(content.data(), one.base, one.size), "cannot read device memory");
      follow(words(content.data(), content.size()));
    }
    std::vector<Allocation> out;
    for (auto& entry : found) out.push_back(entry.second);
    return out;
  }

  std::vector<Allocation> variables_of(const Cubin& cubin, CUfunction function) {
    std::vector<Allocation> out;
    std::vector<Variable> variables = cubin.variables();
    CUmodule module = variables.empty() ? nullptr : module_of(function);
    for (const Variable& variable : variables) {
      CUdeviceptr address = 0;
      std::size_t size = 0;
      if (!module || driver().module_global(&address, &size, module, variable.name.c_str()) != CUDA_SUCCESS)
        uncovered_.push_back({0, variable.size, "global", 0, variable.name, "the driver does not tell its address"});
      else
        out.push_back({address, size, "global", current_device(), variable.name, ""});
    }
    return out;
  }

  std::string dispatch_json(const Launch& launch, const std::string& symbol, const Layout& layout,
                            std::size_t arguments) {
    auto three = [](const unsigned (&of)[3], const unsigned (&times)[3]) {
      return "[" + std::to_string(of[0] * times[0]) + ", " + std::to_string(of[1] * times[1]) + ", " +
             std::to_string(of[2] * times[2]) + "]";
    };
    const unsigned one[3] = {1, 1, 1};
    std::string parameters;
    for (const auto& parameter : layout)
      parameters += (parameters.empty() ? "" : ", ") + ("{\"offset\": " + std::to_string(parameter.first)) +
                    ", \"size\": " + std::to_string(parameter.second) + "}";
    return "{\"version\": 1, \"vendor\": \"NVIDIA\", \"kernel\": " + quoted(symbol) +
           ", \"name\": " + quoted(demangled(symbol)) + ", \"dispatch\": " + std::to_string(target_.matched()) +
           ", \"launch\": " + std::to_string(target_.launches()) + ", \"grid\": " + three(launch.blocks, launch.block) +
           ", \"workgroup\": " + three(launch.block, one) +
           ", \"dynamic_lds_bytes\": " + std::to_string(launch.dynamic_lds) +
           ", \"group_segment_bytes\": " + std::to_string(attribute(launch, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)) +
           ", \"private_segment_bytes\": " + std::to_string(attribute(launch, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)) +
           ", \"kernarg\": {\"size\": " + std::to_string(arguments) + ", \"address\": null}, \"parameters\": [" +
           parameters + "], \"device\": " + device_json() + ", \"driver\": " + quoted(driver_version()) +
           ", \"runtime\": " + quoted("CUDA " + std::to_string(CUDA_VERSION / 1000) + "." +
                                      std::to_string(CUDA_VERSION % 1000 / 10)) +
           ", \"attributes\": {\"cooperative\": " + (launch.cooperative ? "true" : "false") +
           ", \"cluster\": " + three(launch.cluster, one) + "}, \"code_object\": \"kernel.cubin\", \"pid\": " +
           std::to_string(pid_) + ", \"command\": " + command_json() + "}\n";
  }

  static int attribute(const Launch& launch, CUfunction_attribute which) {
    int value = 0;
    return driver().function_attribute(&value, which, launch.function) == CUDA_SUCCESS ? value : 0;
  }

  static std::string driver_version() {
    int version = 0;
    driver().version(&version);
    return "CUDA driver " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }

  static std::string device_json() {
    CUdevice device = 0;
    driver().context_device(&device);
    char name[256] = "";
    int major = 0, minor = 0;
    std::size_t memory = 0;
    CUuuid uuid{};
    driver().device_name(name, sizeof name, device);
    driver().device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver().device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    driver().device_memory(&memory, device);
    driver().device_uuid(&uuid, device);
    std::string hexadecimal;
    for (char byte : uuid.bytes) {
      char text[4];
      std::snprintf(text, sizeof text, "%02x", static_cast<unsigned char>(byte));
      hexadecimal += text;
    }
    return "{\"index\": " + std::to_string(device) + ", \"name\": " + quoted(name) + ", \"gfx\": " +
           quoted("sm_" + std::to_string(major) + std::to_string(minor)) + ", \"uuid\": " + quoted(hexadecimal) +
           ", \"memory_bytes\": " + std::to_string(memory) + "}";
  }

  void report() const {
    std::vector<std::string> also;
    auto tell = [&](std::uint64_t count, const std::string& what) {
      if (count) also.push_back(what + ": " + std::to_string(count));
    };
    tell(graph_launches_, "graph launches, whose kernels cannot be captured");
    tell(graphed_, "launches that match, but were only recorded into a graph");
    account_.write(folder_, target_, also);
  }

  static constexpr std::uint64_t kChosen = 0x726f636d;

  pid_t pid_;
  std::string folder_;
  CUpti_SubscriberHandle handle_ = nullptr;
  Target target_;
  Allocations live_;
  MemoryWatch memory_{live_};
  std::mutex modules_mutex_;
  std::deque<Cubin> cubins_;
  std::set<CUcontext> contexts_;
  std::atomic<std::uint64_t> graph_launches_{0}, graphed_{0};

  std::atomic<bool> capturing_{false};
  std::thread::id capturer_;
  std::mutex pause_mutex_;
  std::condition_variable resumed_;

  std::unique_ptr<Draft> draft_;
  std::unique_ptr<Mover> mover_;
  std::vector<char*> buffers_;
  std::deque<Region> regions_;
  std::vector<Allocation> uncovered_;
  Account account_;
  double launched_at_ = 0;
};

Capture* capture = nullptr;  // lives as long as the process: callbacks may come during its end

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && !inside)
    capture->called(id, *static_cast<const CUpti_CallbackData*>(data));
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) capture->resource(id, *static_cast<const CUpti_ResourceData*>(data));
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
