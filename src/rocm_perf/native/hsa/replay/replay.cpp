// Replays a captured AMD kernel: its memory back at its own addresses, its own code, its own arguments.
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/file.h"
#include "hsa/devices.h"
#include "hsa/replay/runtime.h"
#include "replay/address_space.h"
#include "replay/process.h"
#include "replay/rounds.h"

namespace rocm_perf {
namespace {

constexpr std::size_t kPiece = 64u << 20;

struct Variant {
  std::string label, file;
  hsa_executable_t executable{};
  std::vector<char> code;  // the reader points into it
  std::uint64_t object = 0;
  std::uint32_t group_bytes = 0, private_bytes = 0;
};

std::atomic<int> queue_error{0};

class Replay {
 public:
  Replay(const Plan& plan, Answer& answer) : plan_(plan), answer_(answer) {}

  void run() {
    Placeholders placeholders(plan_.reserve);
    start_device();
    reserve(placeholders);
    if (plan_.mode == "reserve") return;
    map_memory();
    stage_ = devices_->staging(kPiece);
    clear_rest();
    for (const Piece& piece : plan_.load) copy_in(piece);
    load_code();
    place_arguments();
    keep_restore();
    iterate();
    for (const Piece& piece : plan_.dump) copy_out(piece.address, piece.size, piece.file);
    for (const Named& one : plan_.dump_globals) dump_variable(one);
  }

 private:
  void must(hsa_status_t status, Exit code, const std::string& what) const {
    bool full = status == HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    try {
      check(*hsa_, status, what);
    } catch (const std::runtime_error& error) {
      throw Failure(full ? kNoMemory : code, error.what());
    }
  }

  void start_device() {
    hsa_ = std::make_unique<Runtime>();
    must_start(hsa_->hsa_init());
    devices_ = std::make_unique<Devices>(*hsa_);
    copier_ = std::make_unique<Copier>(*hsa_, *devices_);
    auto index = static_cast<std::size_t>(plan_.device);
    if (index >= devices_->gpus().size()) throw Failure(kNoDevice, "there is no such device");
    gpu_ = devices_->gpus()[index];
    std::uint16_t major = 0, minor = 0;
    hsa_->hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
    hsa_->hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
    answer_.device_name = gpu_.name;
    answer_.isa = gpu_.gfx;
    answer_.driver = "HSA " + std::to_string(major) + "." + std::to_string(minor);
    std::uint32_t caches[4] = {};  // L1 to L4
    if (hsa_->hsa_agent_get_info(gpu_.agent, HSA_AGENT_INFO_CACHE_SIZE, caches) == HSA_STATUS_SUCCESS)
      answer_.cache_bytes = *std::max_element(caches, caches + 4);
    if (!plan_.isa.empty() && without_features(plan_.isa) != without_features(gpu_.gfx))
      throw Failure(kOtherIsa, "the snapshot is of " + plan_.isa + ", this GPU is " + gpu_.gfx);
  }

  void must_start(hsa_status_t status) const {  // without a GPU the runtime calls it a lack of resources
    if (status != HSA_STATUS_SUCCESS) throw Failure(kNoDevice, "the HSA runtime does not start: no AMD GPU or driver");
  }

  void reserve(Placeholders& placeholders) {
    bool refused = false, moved = false;
    for (std::size_t index = 0; index < plan_.reserve.size(); ++index) {
      const Range& range = plan_.reserve[index];
      placeholders.release(index, range);
      void* got = nullptr;
      bool given = hsa_->reserve(&got, range.size, range.base, 0) == HSA_STATUS_SUCCESS;
      auto address = reinterpret_cast<std::uint64_t>(got);
      answer_.reservations.push_back({range, given ? address : 0});
      refused |= !given;
      moved |= given && address != range.base;
    }
    if (refused) throw Failure(kNotReserved, "an address range is not free on this machine");
    if (moved) throw Failure(kRelocated, "the runtime gave another address than the one asked for");
  }

  void map_memory() {
    std::uint64_t needed = 0;
    for (const Range& range : plan_.reserve) needed += range.size;
    if (needed > gpu_.memory_bytes)
      throw Failure(kNoMemory, "the snapshot needs " + std::to_string(needed) +
                                   " bytes of device memory, the GPU has " + std::to_string(gpu_.memory_bytes));
    VmemAccess access{HSA_ACCESS_PERMISSION_RW, gpu_.agent};
    for (const Range& range : plan_.reserve) {
      void* address = reinterpret_cast<void*>(range.base);
      VmemHandle handle{};
      must(hsa_->create(gpu_.memory, range.size, 0, 0, &handle), kNoMemory, "no device memory");
      must(hsa_->map(address, range.size, 0, handle, 0), kDeviceError, "cannot map");
      must(hsa_->set_access(address, range.size, &access, 1), kDeviceError, "cannot map");
    }
  }

  template <class Do>
  static void in_pieces(std::uint64_t size, Do&& with) {
    for (std::uint64_t at = 0; at < size; at += kPiece)
      with(at, static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - at)));
  }

  void copy_in(const Piece& piece) {
    File file(piece.file, O_RDONLY);
    in_pieces(piece.size, [&](std::uint64_t at, std::size_t size) {
      file.read_at(stage_, size, piece.offset + at);
      put(piece.address + at, stage_, size);
    });
  }

  void copy_out(std::uint64_t address, std::uint64_t size, const std::string& path) {
    File file(path, O_WRONLY | O_CREAT | O_TRUNC);
    in_pieces(size, [&](std::uint64_t at, std::size_t length) {
      copier_->to_host(stage_, address + at, length, gpu_.agent);
      file.write_at(stage_, length, at);
    });
  }

  void put(std::uint64_t address, const char* staged, std::size_t size) {
    try {
      copier_->to_device(address, staged, size, gpu_.agent);
    } catch (const std::runtime_error& error) {
      throw Failure(kDeviceError, error.what());
    }
  }

  void fill(std::uint64_t address, std::uint64_t size, unsigned byte) {
    in_pieces(size, [&](std::uint64_t at, std::size_t length) {
      std::memset(stage_, static_cast<int>(byte), length);
      put(address + at, stage_, length);
    });
  }

  // Between the captured regions lies what the reservations' granule adds: zeros, so that replays are alike.
  void clear_rest() {
    std::vector<Piece> sorted = plan_.load;
    std::sort(sorted.begin(), sorted.end(), [](const Piece& a, const Piece& b) { return a.address < b.address; });
    for (const Range& range : plan_.reserve) {
      std::uint64_t at = range.base, end = range.base + range.size;
      for (const Piece& piece : sorted) {
        if (piece.address < at || piece.address >= end) continue;
        fill(at, piece.address - at, 0);
        at = piece.address + piece.size;
      }
      fill(at, end > at ? end - at : 0, 0);
    }
  }

  void load_code() {
    for (const Named& code : plan_.code) variants_.push_back(loaded(code));
    if (variants_.empty()) throw Failure(kBadPlan, "the plan names no code object");
    for (const Named& global : plan_.globals) {
      contents_.push_back(whole(global.file));
      if (auto address = variable(variants_.front(), global.name, contents_.back().size()))
        answer_.variables.push_back({global.name, *address});
    }
    put_globals();
  }

  Variant loaded(const Named& code) {
    Variant out;
    out.label = code.name;
    out.file = code.file;
    out.code = whole(code.file);
    hsa_code_object_reader_t reader{};
    must(hsa_->hsa_code_object_reader_create_from_memory(out.code.data(), out.code.size(), &reader), kNoKernel,
         "cannot read " + code.file);
    must(hsa_->hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                         &out.executable),
         kNoKernel, "cannot load " + code.file);
    must(hsa_->hsa_executable_load_agent_code_object(out.executable, gpu_.agent, reader, nullptr, nullptr), kNoKernel,
         "cannot load " + code.file);
    must(hsa_->hsa_executable_freeze(out.executable, nullptr), kNoKernel, "cannot load " + code.file);
    hsa_executable_symbol_t symbol = named(out, plan_.kernel + ".kd", code.file + " has no kernel " + plan_.kernel);
    auto number = [&](hsa_executable_symbol_info_t what, auto& into) {
      must(hsa_->hsa_executable_symbol_get_info(symbol, what, &into), kNoKernel, "cannot describe " + plan_.kernel);
    };
    number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, out.object);
    number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, out.group_bytes);
    number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, out.private_bytes);
    return out;
  }

  hsa_executable_symbol_t named(const Variant& variant, const std::string& name, const std::string& otherwise) {
    hsa_executable_symbol_t symbol{};
    must(hsa_->hsa_executable_get_symbol_by_name(variant.executable, name.c_str(), &gpu_.agent, &symbol), kNoKernel,
         otherwise);
    return symbol;
  }

  // Where it lies; nothing if the code has none of that name: a kernel without the variable cannot read it.
  std::optional<std::uint64_t> variable(const Variant& variant, const std::string& name, std::uint64_t size) {
    hsa_executable_symbol_t symbol{};
    if (hsa_->hsa_executable_get_symbol_by_name(variant.executable, name.c_str(), &gpu_.agent, &symbol) !=
        HSA_STATUS_SUCCESS)
      return std::nullopt;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    auto ask = [&](hsa_executable_symbol_info_t what, void* into) {
      must(hsa_->hsa_executable_symbol_get_info(symbol, what, into), kNoKernel, name + " is no variable of the code");
    };
    ask(HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address);
    ask(HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &bytes);
    if (bytes != size)
      throw Failure(kNoKernel, "the variable " + name + " has " + std::to_string(bytes) + " bytes in " + variant.file +
                                   ", but " + std::to_string(size) + " in the snapshot");
    return address;
  }

  void put_globals() {
    for (const Variant& variant : variants_)
      for (std::size_t index = 0; index < plan_.globals.size(); ++index) {
        const std::vector<char>& bytes = contents_[index];
        auto address = variable(variant, plan_.globals[index].name, bytes.size());
        if (!address) continue;
        in_pieces(bytes.size(), [&](std::uint64_t at, std::size_t length) {
          std::memcpy(stage_, bytes.data() + at, length);
          put(*address + at, stage_, length);
        });
      }
  }

  // What the code has not is as it was.
  void dump_variable(const Named& one) {
    if (auto address = variable(variants_.front(), one.name, one.size)) return copy_out(*address, one.size, one.file);
    for (std::size_t index = 0; index < plan_.globals.size(); ++index) {
      if (plan_.globals[index].name != one.name) continue;
      File(one.file, O_WRONLY | O_CREAT | O_TRUNC).write_at(contents_[index].data(), contents_[index].size(), 0);
    }
  }

  // At their own address when their memory came back there; the address itself is seldom read, but it may be.
  void place_arguments() {
    std::vector<char> bytes = plan_.kernarg.size ? whole(plan_.kernarg.file) : std::vector<char>();
    if (plan_.kernarg_at_address) {
      std::memcpy(stage_, bytes.data(), bytes.size());
      put(plan_.kernarg.address, stage_, bytes.size());
      arguments_ = reinterpret_cast<void*>(plan_.kernarg.address);
    } else if (!bytes.empty()) {
      arguments_ = devices_->host_memory(bytes.size(), devices_->kernarg_pool());
      std::memcpy(arguments_, bytes.data(), bytes.size());
    }
  }

  std::uint64_t device_memory(std::uint64_t size) {
    void* out = nullptr;
    must(hsa_->hsa_amd_memory_pool_allocate(gpu_.memory, size, 0, &out), kNoMemory, "no device memory");
    return reinterpret_cast<std::uint64_t>(out);
  }

  // What the kernel overwrites, kept on the device so that putting it back is quick.
  void keep_restore() {
    for (const Piece& piece : plan_.restore) {
      Piece kept = piece;
      kept.address = device_memory(piece.size);
      copy_in(kept);
      kept_.push_back(kept.address);
      answer_.restored_bytes += piece.size;
    }
  }

  void put_back() {
    for (std::size_t index = 0; index < kept_.size(); ++index)
      copier_->on_device(plan_.restore[index].address, kept_[index], plan_.restore[index].size, gpu_.agent);
    put_globals();
    for (const Poison& one : plan_.poison) fill(one.address, one.size, one.byte);
  }

  void swap() {
    for (const Piece& piece : plan_.swap) copy_in(piece);
  }

  void iterate() {
    make_queue();
    if (plan_.cold_cache) flush_ = device_memory(plan_.cold_cache);
    put_back();
    take_times(
        plan_, variants_, answer_, [this](const Variant& variant, bool is_last) { return once(variant, is_last); },
        [] {});
  }

  void make_queue() {
    constexpr hsa_queue_type32_t kTogether = 2;  // HSA_QUEUE_TYPE_COOPERATIVE
    constexpr hsa_queue_type32_t kUsual = HSA_QUEUE_TYPE_MULTI;
    auto failed = [](hsa_status_t status, hsa_queue_t*, void*) { queue_error = static_cast<int>(status); };
    must(hsa_->hsa_queue_create(gpu_.agent, 64, plan_.cooperative ? kTogether : kUsual, failed, nullptr, UINT32_MAX,
                                UINT32_MAX, &queue_),
         kDeviceError, "no queue");
    must(hsa_->hsa_amd_profiling_set_profiler_enabled(queue_, 1), kDeviceError, "no timestamps");
    must(hsa_->hsa_signal_create(1, 0, nullptr, &done_), kDeviceError, "no signal");
    must(hsa_->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &ticks_per_second_), kDeviceError,
         "no timestamps");
  }

  double once(const Variant& variant, bool is_last) {
    if (plan_.recopy) put_back();
    if (is_last) swap();
    if (flush_)
      must(hsa_->hsa_amd_memory_fill(reinterpret_cast<void*>(flush_), 0xa5a5a5a5u, plan_.cold_cache / 4), kDeviceError,
           "cannot empty the cache");
    if (!plan_.launch) return 0;
    hsa_->hsa_signal_store_screlease(done_, 1);
    start(variant);
    constexpr std::uint64_t kTicks = 1u << 20;
    while (hsa_->hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_LT, 1, kTicks, HSA_WAIT_STATE_BLOCKED) >= 1)
      if (queue_error) must(static_cast<hsa_status_t>(queue_error.load()), kDeviceError, "the kernel failed");
    hsa_amd_profiling_dispatch_time_t time{};
    must(hsa_->hsa_amd_profiling_get_dispatch_time(gpu_.agent, done_, &time), kDeviceError, "no timestamps");
    return static_cast<double>(time.end - time.start) * 1e9 / static_cast<double>(ticks_per_second_);
  }

  void start(const Variant& variant) {
    hsa_kernel_dispatch_packet_t packet{};
    auto dimension = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
    const Sizes& sizes = plan_.sizes_of(variant.label);
    int dimensions = sizes.grid[2] > 1 ? 3 : sizes.grid[1] > 1 ? 2 : 1;
    packet.setup = static_cast<std::uint16_t>(dimensions << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
    packet.workgroup_size_x = static_cast<std::uint16_t>(sizes.workgroup[0]);
    packet.workgroup_size_y = static_cast<std::uint16_t>(sizes.workgroup[1]);
    packet.workgroup_size_z = static_cast<std::uint16_t>(sizes.workgroup[2]);
    packet.grid_size_x = dimension(sizes.grid[0]);
    packet.grid_size_y = dimension(sizes.grid[1]);
    packet.grid_size_z = dimension(sizes.grid[2]);
    packet.private_segment_size = std::max(dimension(plan_.private_segment), variant.private_bytes);
    packet.group_segment_size = variant.group_bytes + dimension(plan_.dynamic_lds);
    packet.kernel_object = variant.object;
    packet.kernarg_address = arguments_;
    packet.completion_signal = done_;
    submit(packet);
  }

  void submit(const hsa_kernel_dispatch_packet_t& packet) {
    std::uint64_t index = hsa_->hsa_queue_add_write_index_scacq_screl(queue_, 1);
    auto* slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) + index % queue_->size;
    std::memcpy(reinterpret_cast<char*>(slot) + 4, reinterpret_cast<const char*>(&packet) + 4, sizeof packet - 4);
    std::uint32_t header =
        (HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE) | (1u << HSA_PACKET_HEADER_BARRIER) | kSystemFences;
    // Header and setup go last and together: from then on the packet belongs to the GPU.
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(slot), header | std::uint32_t{packet.setup} << 16,
                     __ATOMIC_RELEASE);
    hsa_->hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }

  const Plan& plan_;
  Answer& answer_;
  std::unique_ptr<Runtime> hsa_;
  std::unique_ptr<Devices> devices_;
  std::unique_ptr<Copier> copier_;
  Device gpu_;
  char* stage_ = nullptr;
  void* arguments_ = nullptr;
  std::vector<Variant> variants_;
  std::vector<std::vector<char>> contents_;  // of the module's variables
  std::vector<std::uint64_t> kept_;
  std::uint64_t flush_ = 0, ticks_per_second_ = 0;
  hsa_queue_t* queue_ = nullptr;
  hsa_signal_t done_{};
};

}  // namespace
}  // namespace rocm_perf

int main(int count, char** argv) {
  using namespace rocm_perf;
  constexpr int kAttempts = 0;
  return run_to_the_end(count, argv, kAttempts, [](const Plan& plan, Answer& answer) { Replay(plan, answer).run(); });
}
