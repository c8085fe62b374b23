#include "cuda/capture/watch.h"

#include <iterator>

namespace rocm_perf {

CUmodule module_loaded_by(CUpti_CallbackId call, const void* parameters) {
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

bool ends_recording(CUpti_CallbackId call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture || call == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz;
}

bool is_graph_launch(CUpti_CallbackId call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch || call == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

void MemoryWatch::recording_ended(CUresult result) {
  if (result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && result != CUDA_ERROR_ILLEGAL_STATE && recordings_ > 0)
    --recordings_;
}

bool MemoryWatch::is_recorded(CUstream stream) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return recordings_ > 0 && driver().stream_is_capturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void MemoryWatch::took_place(CUpti_CallbackId call, const void* parameters, int device, CUcontext context) {
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

void MemoryWatch::removed(CUpti_CallbackId call, const void* parameters) {
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

void MemoryWatch::add(std::uint64_t base, std::uint64_t size, const char* kind, int device, const char* uncovered,
                      bool with_context) {
  live_.add({base, size, kind, device, "", uncovered, with_context ? owner_ : 0});
}

void MemoryWatch::add_pool(std::uint64_t base, std::uint64_t size, CUstream stream, int device) {
  if (!is_recorded(stream)) add(base, size, "pool", device, "", false);
}

void MemoryWatch::add_mapping(const cuMemMap_params& with, int device) {
  bool foreign = imported_.count(with.handle) != 0;
  auto other = mapped_.find(with.handle);
  bool twice = other != mapped_.end() && with.offset == 0;  // parts of one piece of memory are not told apart
  add(with.ptr, with.size, foreign ? "ipc" : "mapped", device, foreign ? kIpc : twice ? kTwice : "", false);
  if (twice && !foreign) live_.mark(other->second, kTwice);
  mapped_[with.handle] = with.ptr;
}

std::uint64_t MemoryWatch::size_of(CUdeviceptr base) {
  CUdeviceptr start = 0;
  std::size_t size = 0;
  return driver().address_range(&start, &size, base) == CUDA_SUCCESS && size ? size : 1;
}

}  // namespace rocm_perf
