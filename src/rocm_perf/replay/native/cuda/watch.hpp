// Which driver calls change what memory the program holds, and what each means for the bookkeeping.
#pragma once
#include <cupti.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "../common/allocations.hpp"
#include "driver.hpp"

namespace rocm_perf {

// Memory that cannot be put back at its address by a replay, or not with its meaning.
constexpr const char* kManaged = "managed memory moves between host and device by itself";
constexpr const char* kHost = "host memory that the device can reach is not part of a snapshot";
constexpr const char* kIpc = "another process owns it";
constexpr const char* kTwice = "it is mapped at two addresses";

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
    CUPTI_DRIVER_TRACE_CBID_cuMemCreate,
};

// Those that write device memory from the host's side: a snapshot must not begin while one is under way.
constexpr CUpti_CallbackId kCopyCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy,             CUPTI_DRIVER_TRACE_CBID_cuMemcpy_ptds,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,        CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,      CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2,        CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2_ptds,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2,        CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2_ptds,
};

constexpr CUpti_CallbackId kModuleCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoad,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
};

inline CUmodule module_loaded_by(CUpti_CallbackId call, const void* parameters) {
  switch (call) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:
      return *static_cast<const cuModuleLoad_params*>(parameters)->module;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
      return *static_cast<const cuModuleLoadData_params*>(parameters)->module;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
      return *static_cast<const cuModuleLoadDataEx_params*>(parameters)->module;
    default:
      return *static_cast<const cuModuleLoadFatBinary_params*>(parameters)->module;
  }
}

constexpr CUpti_CallbackId kGraphCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,           CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture,      CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz,
#if CUDA_VERSION >= 12030
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz,
#endif
};

inline bool ends_recording(CUpti_CallbackId call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture || call == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz;
}

inline bool is_graph_launch(CUpti_CallbackId call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch || call == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

class MemoryWatch {
 public:
  explicit MemoryWatch(Allocations& live) : live_(live) {}

  // How many streams are being recorded into graphs.
  int recordings() const { return recordings_; }

  void recording_began() { ++recordings_; }

  // A recording that went wrong ends as well; one of another thread, or none at all, does not.
  void recording_ended(CUresult result) {
    if (result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && result != CUDA_ERROR_ILLEGAL_STATE && recordings_ > 0)
      --recordings_;
  }

  bool is_recorded(CUstream stream) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return recordings_ > 0 && driver().stream_is_capturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
  }

  // After a call of kMemoryCalls has succeeded.
  void took_place(CUpti_CallbackId call, const void* parameters, int device, CUcontext context) {
    std::lock_guard<std::mutex> hold(mutex_);
    owner_ = reinterpret_cast<std::uint64_t>(context);
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
        return add_pool(*with->dptr, with->bytesize, with->hStream, device);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz: {
        auto* with = static_cast<const cuMemAllocFromPoolAsync_params*>(parameters);
        return add_pool(*with->dptr, with->bytesize, with->hStream, device);
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle: {
        auto* with = static_cast<const cuMemImportFromShareableHandle_params*>(parameters);
        imported_.insert(*with->handle);
        return;
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemCreate: {  // a number that was another's comes again
        auto* with = static_cast<const cuMemCreate_params*>(parameters);
        imported_.erase(*with->handle);
        mapped_.erase(*with->handle);
        return;
      }
      case CUPTI_DRIVER_TRACE_CBID_cuMemMap:
        return add_mapping(*static_cast<const cuMemMap_params*>(parameters), device);
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
        return add(*with->pdptr, size_of(*with->pdptr), "ipc", device, kIpc);
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
        for (auto at = mapped_.begin(); at != mapped_.end();)
          at = at->second >= with->ptr && at->second < with->ptr + with->size ? mapped_.erase(at) : std::next(at);
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

  void add(std::uint64_t base, std::uint64_t size, const char* kind, int device, const char* uncovered = "",
           bool with_context = true) {
    live_.add({base, size, kind, device, "", uncovered, with_context ? owner_ : 0});
  }

  // Recorded into a graph, it is an address without memory. Pools outlive the context.
  void add_pool(std::uint64_t base, std::uint64_t size, CUstream stream, int device) {
    if (!is_recorded(stream)) add(base, size, "pool", device, "", false);
  }

  void add_mapping(const cuMemMap_params& with, int device) {
    bool foreign = imported_.count(with.handle) != 0;
    auto other = mapped_.find(with.handle);
    bool twice = other != mapped_.end() && with.offset == 0;  // parts of one piece of memory are not told apart
    add(with.ptr, with.size, foreign ? "ipc" : "mapped", device, foreign ? kIpc : twice ? kTwice : "", false);
    if (twice && !foreign) live_.mark(other->second, kTwice);
    mapped_[with.handle] = with.ptr;
  }

  static std::uint64_t size_of(CUdeviceptr base) {
    CUdeviceptr start = 0;
    std::size_t size = 0;
    return driver().address_range(&start, &size, base) == CUDA_SUCCESS && size ? size : 1;
  }

  void add_host(const void* base, std::uint64_t size, int device) { add(address(base), size, "host", device, kHost); }

  Allocations& live_;
  std::atomic<int> recordings_{0};
  std::mutex mutex_;
  std::uint64_t owner_ = 0;  // the context of the call at hand
  std::set<CUmemGenericAllocationHandle> imported_;
  std::map<CUmemGenericAllocationHandle, std::uint64_t> mapped_;  // to which address
};

}  // namespace rocm_perf
