// AQL: the packets of HSA. They are carried out in their order, so a barrier bit has nothing more to wait for.
#include "softgpu/device/aql.h"
#include "softgpu/device/events.h"
#include "softgpu/device/kernels.h"
#include "softgpu/device/queues.h"
#include "softgpu/device/report.h"

namespace rocm_perf::softgpu::device {
namespace {

constexpr std::uint64_t kWriteIndexOffset = 56;  // of the write index in ROCr's amd_queue_t

std::int64_t value_of(std::uint64_t signal) {
  return __atomic_load_n(&reinterpret_cast<Signal*>(signal)->value, __ATOMIC_ACQUIRE);
}

bool may_pass(const BarrierPacket& packet, bool needs_all) {
  bool has_any = false;
  for (std::uint64_t signal : packet.dependencies) {
    if (!signal) continue;
    bool is_done = value_of(signal) <= 0;
    if (is_done && !needs_all) return true;
    if (!is_done && needs_all) return false;
    has_any = true;
  }
  return needs_all || !has_any;
}

bool may_pass(const BarrierValuePacket& packet) {
  if (!packet.signal) return true;
  std::int64_t value = value_of(packet.signal) & packet.mask;
  switch (packet.condition) {  // hsa_signal_condition_t
    case 0:
      return value == packet.value;
    case 1:
      return value != packet.value;
    case 2:
      return value < packet.value;
    default:
      return value >= packet.value;
  }
}

void complete(std::uint64_t address, std::uint64_t start_ticks) {
  if (!address) return;
  auto* signal = reinterpret_cast<Signal*>(address);
  signal->start_ticks = start_ticks;
  signal->end_ticks = gpu_ticks() + 1;
  // The program may destroy the signal as soon as its value is zero: what else it says is read before.
  std::uint64_t mailbox = signal->mailbox;
  std::uint32_t event = signal->event_id;
  __atomic_fetch_sub(&signal->value, 1, __ATOMIC_SEQ_CST);
  if (!mailbox) return;
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(mailbox), event, __ATOMIC_RELEASE);
  events().set(event);
}

class ComputeQueue : public Queue {
 public:
  using Queue::Queue;

 private:
  bool step() override {
    std::uint64_t written = __atomic_load_n(ring.write, __ATOMIC_ACQUIRE);
    std::uint64_t rung = __atomic_load_n(ring.doorbell, __ATOMIC_ACQUIRE);
    // Threads may ring in another order than they wrote; the write index does not go back.
    bool is_announced = next_ < written || (rung != ~std::uint64_t{0} && next_ <= rung);
    auto* packet = reinterpret_cast<DispatchPacket*>(ring.base + next_ * sizeof(DispatchPacket) % ring.size);
    std::uint16_t header = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE);
    if (!is_announced || (header & 0xff) == kInvalid) return false;
    std::uint64_t start = gpu_ticks();
    if (!carry_out(static_cast<PacketType>(header & 0xff), *packet)) return false;
    std::uint64_t completion = packet->completion;
    __atomic_store_n(&packet->header, kInvalid, __ATOMIC_RELEASE);
    __atomic_store_n(ring.read, ++next_, __ATOMIC_SEQ_CST);
    complete(completion, start);
    return true;
  }

  // False while the packet has to wait.
  bool carry_out(PacketType type, DispatchPacket& packet) {
    switch (type) {
      case kKernelDispatch:
        log("queue %u: kernel %s, grid %u %u %u", ring.slot, hexadecimal(packet.kernel_object).c_str(), packet.grid[0],
            packet.grid[1], packet.grid[2]);
        run_kernel(packet, reinterpret_cast<std::uint64_t>(ring.write) - kWriteIndexOffset, ring.gpu);
        return true;
      case kBarrierAnd:
      case kBarrierOr:
        return may_pass(reinterpret_cast<BarrierPacket&>(packet), type == kBarrierAnd);
      case kVendorSpecific:
        return vendor_specific(reinterpret_cast<BarrierValuePacket&>(packet));
      default:
        fail("a queue holds a packet of type " + std::to_string(type) + ", which the software GPU does not know");
    }
  }

  static bool vendor_specific(const BarrierValuePacket& packet) {
    if (packet.format == kBarrierValue) return may_pass(packet);
    // Commands of the processor itself: ROCr sends them to flush caches, of which there are none.
    if (packet.format == kCommands) return true;
    fail("a queue holds a vendor's packet of format " + std::to_string(packet.format) +
         ", which the software GPU does not know");
  }

  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Queue> make_compute_queue(const Ring& ring) { return std::make_unique<ComputeQueue>(ring); }

}  // namespace rocm_perf::softgpu::device
