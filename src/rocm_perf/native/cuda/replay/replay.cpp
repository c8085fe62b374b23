// Replays a captured CUDA kernel: its memory back at its own addresses, its own code, its own arguments.
#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/file.h"
#include "cuda/driver.h"
#include "replay/process.h"
#include "replay/rounds.h"

namespace rocm_perf {
namespace {

constexpr std::size_t kPiece = 64u << 20;

void check(CUresult result, Exit code, const std::string& what) {
  if (result == CUDA_SUCCESS) return;
  throw Failure(result == CUDA_ERROR_OUT_OF_MEMORY ? kNoMemory : code, what + ": " + driver().name_of(result));
}

// Spins for a while, so that what follows is queued before the GPU is free: the time between two events is then the
// kernel's own, without the way of its launch from the host. Leaves the cycles and nanoseconds that it spun: the clock.
constexpr const char* kSpin = R"(.version 6.0
.target sm_60
.address_size 64
.visible .entry spin(.param .u64 nanoseconds, .param .u64 spun) {
  .reg .u64 %now, %begun, %wanted, %took, %cycles, %last, %out;
  .reg .pred %early;
  ld.param.u64 %wanted, [nanoseconds];
  ld.param.u64 %out, [spun];
  mov.u64 %begun, %globaltimer;
  mov.u64 %cycles, %clock64;
again:
  mov.u64 %now, %globaltimer;
  mov.u64 %last, %clock64;
  sub.u64 %took, %now, %begun;
  setp.lt.u64 %early, %took, %wanted;
  @%early bra again;
  sub.u64 %cycles, %last, %cycles;
  st.global.u64 [%out], %cycles;
  st.global.u64 [%out+8], %took;
  ret;
})";
constexpr std::uint64_t kSpinNs = 30'000, kLongestSpinNs = 10'000'000;

struct Variant {
  std::string label;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};

class Replay {
 public:
  Replay(const Plan& plan, Answer& answer) : plan_(plan), answer_(answer) {}

  void run() {
    start_device();
    reserve();
    if (plan_.mode == "reserve") return;
    map_memory();
    stage_ = host_memory(kPiece);
    for (const Piece& piece : plan_.load) copy_in(piece);
    load_code();
    kernarg_ = plan_.kernarg.size ? whole(plan_.kernarg.file) : std::vector<char>();
    keep_restore();
    iterate();
    for (const Piece& piece : plan_.dump) copy_out(piece.address, piece.size, piece.file);
    for (const Named& one : plan_.dump_globals) dump_variable(one);
  }

 private:
  void start_device() {
    if (!driver().library) throw Failure(kNoDevice, "libcuda.so.1 is not on this machine");
    check(driver().init(0), kNoDevice, "the CUDA driver does not start");
    check(driver().device_get(&device_, plan_.device), kNoDevice, "there is no such device");
    char name[256] = "";
    int major = 0, minor = 0, version = 0;
    driver().device_name(name, sizeof name, device_);
    driver().device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_);
    driver().device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_);
    driver().version(&version);
    int cache = 0;
    if (driver().device_attribute(&cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device_) == CUDA_SUCCESS)
      answer_.cache_bytes = static_cast<std::uint64_t>(cache);
    answer_.device_name = name;
    answer_.isa = "sm_" + std::to_string(major) + std::to_string(minor);
    answer_.driver = "CUDA driver " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    if (!plan_.isa.empty() && plan_.isa != answer_.isa)
      throw Failure(kOtherIsa, "the snapshot is of " + plan_.isa + ", this GPU is " + answer_.isa);
    CUcontext context = nullptr;
    check(driver().context_retain(&context, device_), kNoDevice, "no context");
    check(driver().context_set(context), kNoDevice, "no context");
  }

  // Without placeholders: over ranges that one had covered until just before, driver 580.159 gave the next address
  // instead. Why was not found out.
  void reserve() {
    bool refused = false, moved = false;
    for (const Range& range : plan_.reserve) {
      CUdeviceptr got = 0;
      CUresult result = driver().address_reserve(&got, range.size, 0, range.base, 0);
      answer_.reservations.push_back({range, result == CUDA_SUCCESS ? got : 0});
      refused |= result != CUDA_SUCCESS;
      moved |= result == CUDA_SUCCESS && got != range.base;
    }
    if (refused) throw Failure(kNotReserved, "an address range is not free on this machine");
    if (moved) throw Failure(kRelocated, "the driver gave another address than the one asked for");
  }

  void map_memory() {
    std::uint64_t needed = 0;
    for (const Range& range : plan_.reserve) needed += range.size;
    std::size_t free = 0, total = 0;
    check(driver().memory_info(&free, &total), kDeviceError, "no memory information");
    if (needed > free)
      throw Failure(kNoMemory, "the snapshot needs " + std::to_string(needed) + " bytes of device memory, " +
                                   std::to_string(free) + " are free");
    CUmemAllocationProp kind{};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device_}};
    CUmemAccessDesc access{};
    access.location = kind.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    for (const Range& range : plan_.reserve) {
      CUmemGenericAllocationHandle handle{};
      check(driver().memory_create(&handle, range.size, &kind, 0), kNoMemory, "no device memory");
      check(driver().memory_map(range.base, range.size, 0, handle, 0), kDeviceError, "cannot map");
      check(driver().memory_access(range.base, range.size, &access, 1), kDeviceError, "cannot map");
      check(driver().fill(range.base, 0, range.size), kDeviceError, "cannot clear");
    }
  }

  static char* host_memory(std::size_t size) {
    void* memory = nullptr;
    check(driver().host_allocate(&memory, size, 0), kNoMemory, "no host memory");
    return static_cast<char*>(memory);
  }

  void copy_in(const Piece& piece) {
    File file(piece.file, O_RDONLY);
    for (std::uint64_t at = 0; at < piece.size; at += kPiece) {
      std::size_t size = std::min<std::uint64_t>(kPiece, piece.size - at);
      file.read_at(stage_, size, piece.offset + at);
      check(driver().copy_to_device(piece.address + at, stage_, size), kDeviceError, "cannot restore memory");
    }
  }

  void copy_out(CUdeviceptr address, std::uint64_t size, const std::string& path) {
    File file(path, O_WRONLY | O_CREAT | O_TRUNC);
    for (std::uint64_t at = 0; at < size; at += kPiece) {
      std::size_t length = std::min<std::uint64_t>(kPiece, size - at);
      check(driver().copy_to_host(stage_, address + at, length), kDeviceError, "cannot read the result");
      file.write_at(stage_, length, at);
    }
  }

  // What the code does not have, it has not changed.
  void dump_variable(const Named& one) {
    if (CUdeviceptr address = variable(variants_.front(), one.name)) return copy_out(address, one.size, one.file);
    for (std::size_t index = 0; index < plan_.globals.size(); ++index) {
      if (plan_.globals[index].name != one.name) continue;
      File file(one.file, O_WRONLY | O_CREAT | O_TRUNC);
      file.write_at(contents_[index].data(), contents_[index].size(), 0);
    }
  }

  void load_code() {
    for (const Named& code : plan_.code) {
      Variant one;
      one.label = code.name;
      std::vector<char> image = whole(code.file);
      image.push_back('\0');  // PTX is text
      check(driver().module_load(&one.module, image.data()), kNoKernel, "cannot load " + code.file);
      check(driver().module_function(&one.function, one.module, plan_.kernel.c_str()), kNoKernel,
            code.file + " has no kernel " + plan_.kernel);
      allow(one.function);
      variants_.push_back(one);
    }
    for (const Named& global : plan_.globals) {
      contents_.push_back(whole(global.file));
      answer_.variables.push_back({global.name, variable(variants_.front(), global.name)});
    }
    put_globals();
  }

  // What a function must be told before it may be launched so.
  void allow(CUfunction function) const {
    auto limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    if (plan_.dynamic_lds)
      check(driver().function_set_attribute(function, limit, static_cast<int>(plan_.dynamic_lds)), kDeviceError,
            "so much shared memory is refused");
#if CUDA_VERSION >= 11080
    constexpr std::uint64_t kPortable = 8;  // blocks in a cluster that every GPU with clusters takes
    auto large = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    if (plan_.cluster[0] * plan_.cluster[1] * plan_.cluster[2] > kPortable)
      check(driver().function_set_attribute(function, large, 1), kDeviceError, "so large a cluster is refused");
#endif
  }

  // 0 if the code has none of that name: a kernel without the variable cannot read it.
  static CUdeviceptr variable(const Variant& variant, const std::string& name) {
    CUdeviceptr address = 0;
    std::size_t size = 0;
    CUresult result = driver().module_global(&address, &size, variant.module, name.c_str());
    return result == CUDA_SUCCESS ? address : 0;
  }

  static std::size_t size_of(const Variant& variant, const std::string& name) {
    CUdeviceptr address = 0;
    std::size_t size = 0;
    driver().module_global(&address, &size, variant.module, name.c_str());
    return size;
  }

  void put_globals() {
    for (const Variant& variant : variants_) {
      for (std::size_t index = 0; index < plan_.globals.size(); ++index) {
        CUdeviceptr address = variable(variant, plan_.globals[index].name);
        const std::vector<char>& content = contents_[index];
        if (!address) continue;
        if (size_of(variant, plan_.globals[index].name) != content.size())
          throw Failure(kNoKernel, "the variable " + plan_.globals[index].name + " has another size in this code");
        check(driver().copy_to_device(address, content.data(), content.size()), kDeviceError, "cannot set a variable");
      }
    }
  }

  // What the kernel overwrites, kept on the device so that putting it back takes microseconds.
  void keep_restore() {
    for (const Piece& piece : plan_.restore) {
      CUdeviceptr copy = 0;
      check(driver().allocate(&copy, piece.size), kNoMemory, "no device memory for the state before the kernel");
      Piece original = piece;
      original.address = copy;
      copy_in(original);
      kept_.push_back(copy);
      answer_.restored_bytes += piece.size;
    }
  }

  void put_back() {
    for (std::size_t index = 0; index < kept_.size(); ++index)
      check(copy_on_device(plan_.restore[index].address, kept_[index], plan_.restore[index].size), kDeviceError,
            "cannot restore memory");
    if (!plan_.restore.empty() || !plan_.globals.empty()) put_globals();
    for (const Poison& one : plan_.poison)
      check(driver().fill(one.address, static_cast<unsigned char>(one.byte), one.size), kDeviceError, "cannot poison");
  }

  static CUresult copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t size) {
    static auto* copy = driver().find<decltype(::cuMemcpyDtoD_v2)>("cuMemcpyDtoD_v2");
    return copy(to, from, size);
  }

  void swap() {
    for (const Piece& piece : plan_.swap) copy_in(piece);
  }

  void iterate() {
    check(driver().event_create(&start_, CU_EVENT_DEFAULT), kDeviceError, "no event");
    check(driver().event_create(&stop_, CU_EVENT_DEFAULT), kDeviceError, "no event");
    CUmodule module = nullptr;
    check(driver().module_load(&module, kSpin), kDeviceError, "the driver compiles no PTX");
    check(driver().module_function(&spin_, module, "spin"), kDeviceError, "the driver compiles no PTX");
    if (plan_.cold_cache) check(driver().allocate(&flush_, plan_.cold_cache), kNoMemory, "no device memory");
    put_back();
    check(driver().allocate(&spun_, 16), kNoMemory, "no device memory");
    take_times(
        plan_, variants_, answer_, [this](const Variant& variant, bool is_last) { return once(variant, is_last); },
        [this] { note_clock(); });
  }

  void note_clock() {
    std::uint64_t spun[2] = {};  // cycles, nanoseconds
    if (plan_.launch && driver().copy_to_host(spun, spun_, sizeof spun) == CUDA_SUCCESS && spun[1])
      answer_.clocks_mhz.push_back(1e3 * static_cast<double>(spun[0]) / static_cast<double>(spun[1]));
  }

  double once(const Variant& variant, bool is_last) {
    for (;;) {
      if (plan_.recopy) put_back();
      if (is_last) swap();
      if (flush_) check(driver().fill(flush_, 0xa5, plan_.cold_cache), kDeviceError, "cannot empty the cache");
      check(driver().context_synchronize(), kDeviceError, "the device failed");
      if (!plan_.launch) return 0;
      void* parameters[] = {&spin_ns_, &spun_};
      check(driver().launch(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), kDeviceError,
            "the launch failed");
      check(driver().event_record(start_, nullptr), kDeviceError, "no event");
      start(variant);
      check(driver().event_record(stop_, nullptr), kDeviceError, "no event");
      bool late = driver().event_query(start_) == CUDA_SUCCESS;  // the GPU was free before the kernel was queued
      check(driver().event_synchronize(stop_), kDeviceError, "the kernel failed");
      if (!late || spin_ns_ >= kLongestSpinNs) return elapsed_ns();
      spin_ns_ *= 2;
    }
  }

  double elapsed_ns() const {
    float milliseconds = 0;
    check(driver().event_elapsed(&milliseconds, start_, stop_), kDeviceError, "no time");
    return static_cast<double>(milliseconds) * 1e6;
  }

  void start(const Variant& variant) {
    std::size_t size = kernarg_.size();
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, kernarg_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUlaunchAttribute attributes[2] = {};
    CUlaunchConfig config{};
    const Sizes& sizes = plan_.sizes_of(variant.label);
    unsigned* blocks[] = {&config.gridDimX, &config.gridDimY, &config.gridDimZ};
    unsigned* block[] = {&config.blockDimX, &config.blockDimY, &config.blockDimZ};
    for (int axis = 0; axis < 3; ++axis) {
      *block[axis] = static_cast<unsigned>(sizes.workgroup[axis]);
      *blocks[axis] = static_cast<unsigned>(sizes.grid[axis] / sizes.workgroup[axis]);
    }
    config.sharedMemBytes = static_cast<unsigned>(plan_.dynamic_lds);
    config.attrs = attributes;
    if (plan_.cooperative) {
      attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      attributes[config.numAttrs++].value.cooperative = 1;
    }
    if (plan_.cluster[0] * plan_.cluster[1] * plan_.cluster[2] > 1) {
      CUlaunchAttribute& attribute = attributes[config.numAttrs++];
      attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attribute.value.clusterDim.x = static_cast<unsigned>(plan_.cluster[0]);
      attribute.value.clusterDim.y = static_cast<unsigned>(plan_.cluster[1]);
      attribute.value.clusterDim.z = static_cast<unsigned>(plan_.cluster[2]);
    }
    check(driver().launch_with(&config, variant.function, nullptr, size ? extra : nullptr), kDeviceError,
          "the launch failed");
  }

  const Plan& plan_;
  Answer& answer_;
  CUdevice device_ = 0;
  char* stage_ = nullptr;
  std::vector<char> kernarg_;
  std::vector<Variant> variants_;
  std::vector<std::vector<char>> contents_;  // of the module's variables
  std::vector<CUdeviceptr> kept_;
  CUdeviceptr flush_ = 0, spun_ = 0;
  std::uint64_t spin_ns_ = kSpinNs;
  CUfunction spin_ = nullptr;
  CUevent start_ = nullptr, stop_ = nullptr;
};

}  // namespace
}  // namespace rocm_perf

int main(int count, char** argv) {
  using namespace rocm_perf;
  constexpr int kAttempts = 12;  // the first without randomisation
  return run_to_the_end(count, argv, kAttempts, [](const Plan& plan, Answer& answer) { Replay(plan, answer).run(); });
}
