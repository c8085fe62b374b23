// Packets and signals as HSA and ROCr lay them out in memory (hsa.h, amd_hsa_signal.h, hsa_ext_amd.h).
#pragma once
#include <cstdint>

namespace rocm_perf::softgpu::device {

enum PacketType : std::uint8_t {
  kVendorSpecific = 0,
  kInvalid = 1,
  kKernelDispatch = 2,
  kBarrierAnd = 3,
  kAgentDispatch = 4,
  kBarrierOr = 5,
};

enum VendorFormat : std::uint8_t { kCommands = 1, kBarrierValue = 2 };

struct Signal {
  std::int64_t kind;
  std::int64_t value;
  std::uint64_t mailbox;
  std::uint32_t event_id, reserved;
  std::uint64_t start_ticks, end_ticks;
};

struct DispatchPacket {
  std::uint16_t header, setup;
  std::uint16_t workgroup[3];
  std::uint16_t reserved;
  std::uint32_t grid[3];
  std::uint32_t private_bytes, group_bytes;
  std::uint64_t kernel_object, arguments, reserved2, completion;
};

struct BarrierPacket {
  std::uint16_t header, reserved[3];
  std::uint64_t dependencies[5], reserved2, completion;
};

struct BarrierValuePacket {
  std::uint16_t header;
  std::uint8_t format, reserved[5];
  std::uint64_t signal;
  std::int64_t value, mask;
  std::uint32_t condition, reserved2[5];
  std::uint64_t completion;
};

static_assert(sizeof(DispatchPacket) == 64 && sizeof(BarrierPacket) == 64 && sizeof(BarrierValuePacket) == 64);

}  // namespace rocm_perf::softgpu::device
