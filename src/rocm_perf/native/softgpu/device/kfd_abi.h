// What ROCr and the kernel driver say to each other: the calls of linux/kfd_ioctl.h that are answered here, by number,
// with their arguments. The header of an older system lacks the newer ones.
#pragma once
#include <cstdint>

namespace rocm_perf::softgpu::device {

enum KfdCall : unsigned {
  kGetVersion = 0x01,
  kCreateQueue = 0x02,
  kDestroyQueue = 0x03,
  kSetMemoryPolicy = 0x04,
  kGetClockCounters = 0x05,
  kUpdateQueue = 0x07,
  kCreateEvent = 0x08,
  kDestroyEvent = 0x09,
  kSetEvent = 0x0a,
  kResetEvent = 0x0b,
  kWaitEvents = 0x0c,
  kSetScratchBacking = 0x11,
  kGetTileConfig = 0x12,
  kSetTrapHandler = 0x13,
  kGetApertures = 0x14,
  kAcquireVm = 0x15,
  kAllocateMemory = 0x16,
  kFreeMemory = 0x17,
  kMapMemory = 0x18,
  kUnmapMemory = 0x19,
  kSetCuMask = 0x1a,
  kGetDmabufInfo = 0x1c,
  kImportDmabuf = 0x1d,
  kSharedMemory = 0x20,
  kSetXnackMode = 0x21,
  kAvailableMemory = 0x23,
  kExportDmabuf = 0x24,
  kRuntimeEnable = 0x25,
};

struct VersionArguments {
  std::uint32_t major, minor;
};

enum QueueType : std::uint32_t { kCompute = 0, kSdma = 1, kComputeAql = 2, kSdmaXgmi = 3, kSdmaByEngine = 4 };

struct CreateQueueArguments {
  std::uint64_t ring, write_pointer, read_pointer, doorbell_offset;
  std::uint32_t ring_size, gpu_id, type, percentage, priority, queue_id;
};

struct QueueIdArguments {
  std::uint32_t queue_id, pad;
};

struct ClockArguments {
  std::uint64_t gpu, cpu, system, system_frequency;
  std::uint32_t gpu_id, pad;
};

struct CreateEventArguments {
  std::uint64_t page_offset;
  std::uint32_t trigger_data, type, auto_reset, node_id, event_id, slot_index;
};

struct EventIdArguments {
  std::uint32_t event_id, pad;
};

struct EventData {
  std::uint64_t last_age;  // of signal events, since version 1.14
  std::uint64_t other[3];
  std::uint64_t extension;
  std::uint32_t event_id, pad;
};

enum WaitResult : std::uint32_t { kComplete = 0, kTimeout = 1, kFail = 2 };

struct WaitEventsArguments {
  std::uint64_t events;
  std::uint32_t count, wait_for_all, timeout_ms, result;
};

struct TileConfigArguments {
  std::uint64_t tiles, macro_tiles;
  std::uint32_t tile_count, macro_tile_count, gpu_id, address_config, banks, ranks;
};

struct Apertures {
  std::uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
  std::uint32_t gpu_id, pad;
};

struct AperturesArguments {
  std::uint64_t apertures;
  std::uint32_t count, pad;
};

enum MemoryFlag : std::uint32_t { kVram = 1, kGtt = 2, kUserPointer = 4, kDoorbell = 8, kRemappedRegisters = 16 };

struct AllocateArguments {
  std::uint64_t address, size, handle, offset;
  std::uint32_t gpu_id, flags;
};

struct HandleArguments {
  std::uint64_t handle;
};

struct MapArguments {
  std::uint64_t handle, gpu_ids;
  std::uint32_t count, done;
};

struct DmabufInfoArguments {
  std::uint64_t size, metadata;
  std::uint32_t metadata_size, gpu_id, flags, file;
};

struct ImportArguments {
  std::uint64_t address, handle;
  std::uint32_t gpu_id, file;
};

struct ExportArguments {
  std::uint64_t handle;
  std::uint32_t flags, file;
};

enum SharedOperation : std::uint32_t { kSetAttributes = 0, kGetAttributes = 1 };
enum SharedAttribute : std::uint32_t { kPreferredPlace = 0, kPrefetchPlace = 1, kSetFlags = 5, kClearFlags = 6 };
constexpr std::uint32_t kNoPlace = 0xffffffff;

struct SharedArguments {
  struct Attribute {
    std::uint32_t type, value;
  };
  std::uint64_t address, size;
  std::uint32_t operation, count;
  Attribute attributes[1];  // as many as `count` says
};

struct XnackArguments {
  std::int32_t enabled;
};

struct AvailableArguments {
  std::uint64_t bytes;
  std::uint32_t gpu_id, pad;
};

struct RuntimeEnableArguments {
  std::uint64_t debug;
  std::uint32_t mode, capabilities;
};

}  // namespace rocm_perf::softgpu::device
