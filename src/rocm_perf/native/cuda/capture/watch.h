// Which driver calls change what memory the program holds, and what each means for the bookkeeping.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "capture/allocations.h"
#include "cuda/driver.h"

namespace rocm_perf {

// Memory that cannot be put back at its address by a replay, or not with its meaning.
constexpr const char* kManaged = "managed memory moves between host and device by itself";
constexpr const char* kHost = "host memory that the device can reach is not part of a snapshot";
constexpr const char* kIpc = "another process owns it";
constexpr const char* kTwice = "it is mapped at two addresses";

constexpr CUpti_CallbackId kMemoryCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemMap,
    CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
    CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
    CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2,
    CUPTI_DRIVER_TRACE_CBID_cuIpcCloseMemHandle,
    CUPTI_DRIVER_TRACE_CBID_cuMemCreate,
};

// Those that write device memory from the host's side: a snapshot must not begin while one is under way.
constexpr CUpti_CallbackId kCopyCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy_ptds,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2_ptds,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2_ptds,
};

constexpr CUpti_CallbackId kModuleCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoad,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
};

CUmodule module_loaded_by(CUpti_CallbackId call, const void* parameters);

constexpr CUpti_CallbackId kGraphCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz,
#if CUDA_VERSION >= 12030
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz,
#endif
};

bool ends_recording(CUpti_CallbackId call);

bool is_graph_launch(CUpti_CallbackId call);

class MemoryWatch {
 public:
  explicit MemoryWatch(Allocations& live) : live_(live) {}

  // How many streams are being recorded into graphs.
  int recordings() const { return recordings_; }

  void recording_began() { ++recordings_; }

  // A recording that went wrong ends as well; one of another thread, or none at all, does not.
  void recording_ended(CUresult result);

  bool is_recorded(CUstream stream) const;

  // After a call of kMemoryCalls has succeeded.
  void took_place(CUpti_CallbackId call, const void* parameters, int device, CUcontext context);

 private:
  void removed(CUpti_CallbackId call, const void* parameters);

  static std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

  void add(std::uint64_t base, std::uint64_t size, const char* kind, int device, const char* uncovered = "",
           bool with_context = true);

  // Recorded into a graph, it is an address without memory. Pools outlive the context.
  void add_pool(std::uint64_t base, std::uint64_t size, CUstream stream, int device);

  void add_mapping(const cuMemMap_params& with, int device);
  static std::uint64_t size_of(CUdeviceptr base);

  void add_host(const void* base, std::uint64_t size, int device) { add(address(base), size, "host", device, kHost); }

  Allocations& live_;
  std::atomic<int> recordings_{0};
  std::mutex mutex_;
  std::uint64_t owner_ = 0;  // the context of the call at hand
  std::set<CUmemGenericAllocationHandle> imported_;
  std::map<CUmemGenericAllocationHandle, std::uint64_t> mapped_;  // to which address
};

}  // namespace rocm_perf
