// Which driver calls change what memory the program holds, and what each means for the bookkeeping.
#pragma once
#include <cupti.h>

#include <set>

#include "../common/allocations.hpp"

namespace rocm_perf {

// Memory that cannot be put back at its address by a replay, or not with its meaning.
constexpr const char* kManaged = "managed memory moves between host and device by itself";
constexpr const char* kHost = "host memory that the device can reach is not part of a snapshot";
constexpr const char* kIpc = "another process owns it";

constexpr CUpti_CallbackId kMemoryCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,         CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,          CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync,       CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,        CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemMap,              CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
    CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2,     CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2,     CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister,   CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
    CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2, CUPTI_DRIVER_TRACE_CBID_cuIpcCloseMemHandle,
};

class MemoryWatch {
 public:
  explicit MemoryWatch(Allocations& live) : live_(live) {}

  // After a call of kMemoryCalls has succeeded.
  void took_place(CUpti_CallbackId call, const void* parameters, int device) {
    switch (call) {
      case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2: {
        auto* with = static_cast<const cuMemAlloc_v2_params*>(parameters);
        return add(*with->dptr, with->bytesize, "device", device);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2: {
        auto* with = static_cast<const cuMemAllocPitch_v2_params*>(parameters);
        return add(*with->dptr, *with->pPitch * with->Height, "device", device);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged: {
        auto* with = static_cast<const cuMemAllocManaged_params*>(parameters);
        return add(*with->dptr, with->bytesize, "managed", device, kManaged);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz: {
        auto* with = static_cast<const cuMemAllocAsync_params*>(parameters);
        return add(*with->dptr, with->bytesize, "pool", device);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz: {
        auto* with = static_cast<const cuMemAllocFromPoolAsync_params*>(parameters);
        return add(*with->dptr, with->bytesize, "pool", device);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle: {
        auto* with = static_cast<const cuMemImportFromShareableHandle_params*>(parameters);
        imported_.insert(*with->handle);
        return;
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemMap: {
        auto* with = static_cast<const cuMemMap_params*>(parameters);
        bool foreign = imported_.count(with->handle) != 0;
        return add(with->ptr, with->size, foreign ? "ipc" : "mapped", device, foreign ? kIpc : "");
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
      case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2: {
        auto* with = static_cast<const cuMemHostAlloc_params*>(parameters);
        return add_host(*with->pp, with->bytesize, device);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2: {
        auto* with = static_cast<const cuMemAllocHost_v2_params*>(parameters);
        return add_host(*with->pp, with->bytesize, device);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2: {
        auto* with = static_cast<const cuMemHostRegister_v2_params*>(parameters);
        return add_host(with->p, with->bytesize, device);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2: {
        auto* with = static_cast<const cuIpcOpenMemHandle_v2_params*>(parameters);
        return add(*with->pdptr, 1, "ipc", device, kIpc);  // its size is the owner's to know
      }
      default:
        return removed(call, parameters);
    }
  }

 private:
  void removed(CUpti_CallbackId call, const void* parameters) {
    switch (call) {
      case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
        return live_.remove(static_cast<const cuMemFree_v2_params*>(parameters)->dptr);
      case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
      case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
        return live_.remove(static_cast<const cuMemFreeAsync_params*>(parameters)->dptr);
      case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap: {
        auto* with = static_cast<const cuMemUnmap_params*>(parameters);
        return live_.remove_within(with->ptr, with->size);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
        return live_.remove(address(static_cast<const cuMemHostUnregister_params*>(parameters)->p));
      case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
        return live_.remove(address(static_cast<const cuMemFreeHost_params*>(parameters)->p));
      case CUPTI_DRIVER_TRACE_CBID_cuIpcCloseMemHandle:
        return live_.remove(static_cast<const cuIpcCloseMemHandle_params*>(parameters)->dptr);
      default:
        return;
    }
  }

  static std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

  void add(std::uint64_t base, std::uint64_t size, const char* kind, int device, const char* uncovered = "") {
    live_.add({base, size, kind, device, "", uncovered});
  }
  void add_host(const void* base, std::uint64_t size, int device) { add(address(base), size, "host", device, kHost); }

  Allocations& live_;
  std::set<CUmemGenericAllocationHandle> imported_;
};

}  // namespace rocm_perf
