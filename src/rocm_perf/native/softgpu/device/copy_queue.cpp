// SDMA: the engines that copy and fill memory, beside the compute queues. Their commands are AMD's; the layouts are
// those that ROCr writes (sdma_registers.h).
#include <cstring>

#include "softgpu/device/events.h"
#include "softgpu/device/queues.h"
#include "softgpu/device/report.h"

namespace rocm_perf::softgpu::device {
namespace {

enum Operation : unsigned {
  kNothing = 0,
  kCopy = 1,
  kFence = 5,
  kTrap = 6,
  kPoll = 8,
  kAtomic = 10,
  kFill = 11,
  kTimestamp = 13,
  kCacheControl = 17,
};
enum CopyKind : unsigned { kLinear = 0, kRectangle = 4 };

template <class Type = char>
Type* pointer(const std::uint32_t* words) {
  return reinterpret_cast<Type*>(words[0] | static_cast<std::uint64_t>(words[1]) << 32);
}

bool is_reached(const std::uint32_t* packet) {
  bool compares_memory = packet[0] >> 31;  // else it polls a register: a flush, of which there is nothing to do
  if (!compares_memory) return true;
  std::uint32_t value = __atomic_load_n(pointer<std::uint32_t>(packet + 1), __ATOMIC_ACQUIRE) & packet[4];
  std::uint32_t reference = packet[3];
  switch (packet[0] >> 28 & 7) {
    case 1:
      return value < reference;
    case 2:
      return value <= reference;
    case 3:
      return value == reference;
    case 4:
      return value != reference;
    case 5:
      return value >= reference;
    case 6:
      return value > reference;
    default:
      return true;
  }
}

// A box of elements, between places with pitches of their own (SDMA_PKT_COPY_LINEAR_RECT).
void copy_rectangle(const std::uint32_t* packet) {
  struct Side {
    char* base;
    std::uint64_t pitch, slice;
    std::uint64_t x, y, z;
  };
  unsigned element = packet[0] >> 29 & 7;  // log2 of its bytes
  auto side = [](const std::uint32_t* words) {
    return Side{pointer(words),
                (words[3] >> 13) + std::uint64_t{1},
                (words[4] & 0xfffffff) + std::uint64_t{1},
                words[2] & 0x3fff,
                words[2] >> 16 & 0x3fff,
                words[3] & 0x7ff};
  };
  Side from = side(packet + 1), to = side(packet + 6);
  std::uint64_t width = (packet[11] & 0x3fff) + 1, height = (packet[11] >> 16 & 0x3fff) + 1;
  std::uint64_t depth = (packet[12] & 0x7ff) + 1;
  auto row = [element](const Side& side, std::uint64_t y, std::uint64_t z) {
    return side.base + (((side.z + z) * side.slice + (side.y + y) * side.pitch + side.x) << element);
  };
  for (std::uint64_t z = 0; z < depth; ++z) {
    for (std::uint64_t y = 0; y < height; ++y) std::memmove(row(to, y, z), row(from, y, z), width << element);
  }
}

void fill(const std::uint32_t* packet) {
  auto* to = pointer<std::uint32_t>(packet + 1);
  std::uint64_t words = ((packet[4] & 0x3fffffff) + 4) / 4;
  for (std::uint64_t at = 0; at < words; ++at) to[at] = packet[3];
}

class CopyQueue : public Queue {
 public:
  using Queue::Queue;

 private:
  bool step() override {
    if (next_ >= __atomic_load_n(ring.doorbell, __ATOMIC_ACQUIRE)) return false;
    const auto* packet = reinterpret_cast<const std::uint32_t*>(ring.base + next_ % ring.size);
    unsigned words = carry_out(packet);
    if (!words) return false;
    next_ += words * sizeof *packet;
    __atomic_store_n(ring.read, next_, __ATOMIC_SEQ_CST);
    return true;
  }

  // The length of the packet; 0 while it has to wait.
  unsigned carry_out(const std::uint32_t* packet) {
    unsigned operation = packet[0] & 0xff, kind = packet[0] >> 8 & 0xff;
    switch (operation) {
      case kNothing:
        return 1 + (packet[0] >> 16 & 0x3fff);
      case kCopy:
        return copy(packet, kind);
      case kFence:
        __atomic_store_n(pointer<std::uint32_t>(packet + 1), packet[3], __ATOMIC_SEQ_CST);
        return 4;
      case kTrap:
        events().set(packet[1] & 0xfffffff);
        return 2;
      case kPoll:
        return is_reached(packet) ? 6 : 0;
      case kAtomic:
        __atomic_fetch_add(pointer<std::uint64_t>(packet + 1), packet[3] | static_cast<std::uint64_t>(packet[4]) << 32,
                           __ATOMIC_SEQ_CST);
        return 8;
      case kFill:
        fill(packet);
        return 5;
      case kTimestamp:
        __atomic_store_n(pointer<std::uint64_t>(packet + 1), gpu_ticks(), __ATOMIC_SEQ_CST);
        return 3;
      case kCacheControl:
        return 5;
      default:
        unknown(operation, kind);
    }
  }

  unsigned copy(const std::uint32_t* packet, unsigned kind) {
    if (kind == kRectangle) {
      copy_rectangle(packet);
      return 13;
    }
    if (kind != kLinear) unknown(kCopy, kind);
    std::uint64_t size = (packet[1] & 0x3fffffff) + std::uint64_t{1};
    log("queue %u: copy of %llu bytes to %s", ring.slot, static_cast<unsigned long long>(size),
        hexadecimal(reinterpret_cast<std::uint64_t>(pointer(packet + 5))).c_str());
    std::memmove(pointer(packet + 5), pointer(packet + 3), size);
    return 7;
  }

  [[noreturn]] static void unknown(unsigned operation, unsigned kind) {
    fail("a copy engine was asked for operation " + std::to_string(operation) + "." + std::to_string(kind) +
         ", which the software GPU does not know");
  }

  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Queue> make_copy_queue(const Ring& ring) { return std::make_unique<CopyQueue>(ring); }

}  // namespace rocm_perf::softgpu::device
