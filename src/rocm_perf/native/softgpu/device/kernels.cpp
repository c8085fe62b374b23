#include "softgpu/device/kernels.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "softgpu/device/code.h"
#include "softgpu/device/disassembler.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/report.h"
#include "softgpu/device/settings.h"
#include "softgpu/execute.h"
#include "softgpu/failure.h"

namespace rocm_perf::softgpu::device {
namespace {

// Programs that were decoded before, by their code: where it lies, and a sum over it, as memory may get new code.
class Programs {
 public:
  std::shared_ptr<const Program> of(const Range& code, const std::string& isa) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& known = programs_[{code.start, code.size, checksum(code)}];
    if (!known) {
      std::istringstream text(listing(code.start, code.size, isa));
      known = std::make_shared<const Program>(decode(text, isa, 0));
    }
    return known;
  }

 private:
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

  static std::uint64_t checksum(const Range& code) {  // FNV-1a, over words
    std::uint64_t sum = 14695981039346656037u;
    for (std::uint64_t at = 0; at + sizeof sum <= code.size; at += sizeof sum) {
      std::uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<const void*>(code.start + at), sizeof word);
      sum = (sum ^ word) * 1099511628211u;
    }
    return sum;
  }

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Program>> programs_;
};

softgpu::Memory visible_memory() {
  std::vector<Region> regions;
  for (const Range& range : memory().ranges()) {
    regions.push_back({range.start, range.size, reinterpret_cast<unsigned char*>(range.start), true});
  }
  return softgpu::Memory(std::move(regions));
}

Dispatch dispatch_of(const DispatchPacket& packet, std::uint64_t queue) {
  Dispatch out;
  out.descriptor = packet.kernel_object;
  out.kernarg = packet.arguments;
  out.packet = reinterpret_cast<std::uint64_t>(&packet);
  out.queue = queue;
  for (int axis = 0; axis < 3; ++axis) {
    out.grid[axis] = std::max(packet.grid[axis], 1u);
    out.workgroup[axis] = std::max<std::uint32_t>(packet.workgroup[axis], 1);
  }
  out.group_segment = packet.group_bytes;
  out.private_segment = packet.private_bytes;
  return out;
}

std::string outcome_of(const DispatchPacket& packet, std::uint64_t queue, int gpu) {
  static Programs* const programs = new Programs;
  try {
    softgpu::Memory visible = visible_memory();
    Dispatch dispatch = dispatch_of(packet, queue);
    Range code = code_around(Descriptor(visible, dispatch.descriptor).entry);
    auto program = programs->of(code, settings().gpus[gpu].isa);
    return execute(*program, visible, dispatch, {std::max(1u, std::thread::hardware_concurrency()), 0}).error;
  } catch (const ExecutionError& error) {
    return error.what();
  } catch (const OutsideMemory& access) {
    return "its descriptor or its arguments lie outside of memory, at " + hexadecimal(access.address);
  }
}

}  // namespace

void run_kernel(const DispatchPacket& packet, std::uint64_t queue, int gpu) {
  std::string error = outcome_of(packet, queue, gpu);
  if (!error.empty()) fail("kernel " + kernel_name(packet.kernel_object) + ": " + error);
}

}  // namespace rocm_perf::softgpu::device
