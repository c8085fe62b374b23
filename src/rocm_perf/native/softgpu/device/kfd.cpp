#include "softgpu/device/kfd.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "softgpu/device/events.h"
#include "softgpu/device/kfd_abi.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/queues.h"
#include "softgpu/device/report.h"
#include "softgpu/device/settings.h"

namespace rocm_perf::softgpu::device {
namespace {

constexpr std::uint32_t kMajor = 1, kMinor = 18;  // of the interface: Linux 6.15
constexpr std::uint64_t kAddressLimit = 0x7fffffffffff;

template <class Type>
Type& as(void* arguments) {
  return *static_cast<Type*>(arguments);
}

void clocks(ClockArguments& out) {
  out.cpu = out.system = now_ns();
  out.gpu = gpu_ticks();
  out.system_frequency = 1000000000;
}

void apertures(AperturesArguments& in) {
  const auto& gpus = settings().gpus;
  auto* out = reinterpret_cast<Apertures*>(in.apertures);
  for (std::uint32_t at = 0; out && at < in.count && at < gpus.size(); ++at) {
    out[at] = Apertures{0x1000000000000, 0x10000ffffffff, 0x2000000000000, 0x20000ffffffff,
                        0x1000000,       kAddressLimit,   gpus[at].id,     0};
  }
  in.count = static_cast<std::uint32_t>(gpus.size());
}

void create_event(CreateEventArguments& arguments) {
  arguments.event_id = events().create(arguments.auto_reset != 0);
  arguments.slot_index = arguments.trigger_data = arguments.event_id;
  if (!arguments.page_offset) arguments.page_offset = kEventPageOffset;
}

int wait(WaitEventsArguments& in) {
  in.result = events().wait(reinterpret_cast<EventData*>(in.events), in.count, in.wait_for_all != 0, in.timeout_ms);
  return in.result == kFail ? EIO : 0;
}

int allocate(AllocateArguments& in) {
  Allocation wanted;
  wanted.address = in.address;
  wanted.size = in.size;
  wanted.offset = in.offset;
  wanted.gpu_id = in.gpu_id;
  wanted.flags = in.flags;
  auto made = memory().allocate(wanted);
  if (!made) return ENOMEM;
  in.handle = made->handle;
  in.offset = made->offset;
  log("memory of %llu bytes at %s, flags %x", static_cast<unsigned long long>(in.size), hexadecimal(in.address).c_str(),
      in.flags);
  return 0;
}

// A buffer that can be passed on is a small file that names the allocation.
int export_buffer(ExportArguments& arguments) {
  auto found = memory().find(arguments.handle);
  if (!found) return EINVAL;
  int file = ::memfd_create("softgpu-buffer", MFD_CLOEXEC);
  if (file < 0 || ::write(file, &*found, sizeof *found) != sizeof *found) return ENOMEM;
  arguments.file = static_cast<std::uint32_t>(file);
  return 0;
}

int buffer_info(DmabufInfoArguments& arguments) {
  Allocation buffer;
  if (::pread(static_cast<int>(arguments.file), &buffer, sizeof buffer, 0) != sizeof buffer) return EINVAL;
  arguments.size = buffer.size;
  arguments.gpu_id = buffer.gpu_id;
  arguments.flags = buffer.flags;
  arguments.metadata_size = 0;
  return 0;
}

// Memory that moves between host and GPU by itself: here it is simply reached.
int shared_memory(SharedArguments& arguments) {
  if (arguments.operation == kSetAttributes) {
    memory().share(arguments.address, arguments.size);
    return 0;
  }
  for (std::uint32_t at = 0; at < arguments.count; ++at) {
    auto& attribute = arguments.attributes[at];
    if (attribute.type == kPreferredPlace || attribute.type == kPrefetchPlace) attribute.value = kNoPlace;
    if (attribute.type == kSetFlags || attribute.type == kClearFlags) attribute.value = 0;
  }
  return 0;
}

int set_xnack(XnackArguments& arguments) {
  if (arguments.enabled > 0) return EPERM;  // no retries of page faults
  arguments.enabled = 0;
  return 0;
}

}  // namespace

bool is_driver_call(unsigned long request) { return _IOC_TYPE(request) == 'K'; }

int driver_call(unsigned long request, void* arguments) {
  unsigned call = _IOC_NR(request);
  if (call != kWaitEvents) log("call 0x%02x", call);
  switch (call) {
    case kGetVersion:
      as<VersionArguments>(arguments) = {kMajor, kMinor};
      return 0;
    case kCreateQueue:
      return queues().create(as<CreateQueueArguments>(arguments)) ? 0 : ENOMEM;
    case kDestroyQueue:
      return queues().destroy(as<QueueIdArguments>(arguments).queue_id) ? 0 : EINVAL;
    case kGetClockCounters:
      clocks(as<ClockArguments>(arguments));
      return 0;
    case kCreateEvent:
      create_event(as<CreateEventArguments>(arguments));
      return 0;
    case kDestroyEvent:
      events().destroy(as<EventIdArguments>(arguments).event_id);
      return 0;
    case kSetEvent:
      events().set(as<EventIdArguments>(arguments).event_id);
      return 0;
    case kResetEvent:
      events().reset(as<EventIdArguments>(arguments).event_id);
      return 0;
    case kWaitEvents:
      return wait(as<WaitEventsArguments>(arguments));
    case kGetTileConfig:
      as<TileConfigArguments>(arguments).tile_count = as<TileConfigArguments>(arguments).macro_tile_count = 0;
      return 0;
    case kGetApertures:
      apertures(as<AperturesArguments>(arguments));
      return 0;
    case kAllocateMemory:
      return allocate(as<AllocateArguments>(arguments));
    case kFreeMemory:
      memory().release(as<HandleArguments>(arguments).handle);
      return 0;
    case kMapMemory:
    case kUnmapMemory:
      as<MapArguments>(arguments).done = as<MapArguments>(arguments).count;
      return 0;
    case kGetDmabufInfo:
      return buffer_info(as<DmabufInfoArguments>(arguments));
    case kSharedMemory:
      return shared_memory(as<SharedArguments>(arguments));
    case kSetXnackMode:
      return set_xnack(as<XnackArguments>(arguments));
    case kAvailableMemory:
      as<AvailableArguments>(arguments).bytes = memory().available(as<AvailableArguments>(arguments).gpu_id);
      return 0;
    case kExportDmabuf:
      return export_buffer(as<ExportArguments>(arguments));
    case kRuntimeEnable:
      as<RuntimeEnableArguments>(arguments).capabilities = 0;
      return 0;
    case kSetMemoryPolicy:
    case kUpdateQueue:
    case kSetScratchBacking:
    case kSetTrapHandler:
    case kAcquireVm:
    case kSetCuMask:
      return 0;  // nothing here depends on it
    default:
      return EINVAL;
  }
}

}  // namespace rocm_perf::softgpu::device
