// What the stand-in driver offers beyond CUDA's own calls: what a scene sets, and memory and code that nobody is told
// of.
#pragma once
#include <cupti.h>

#include <functional>
#include <string>

namespace standin {

// Within every call, after CUPTI was told that it begins and before it does anything.
extern std::function<void(const std::string& call)> within;

CUcontext make_context();
void destroy_context(CUcontext context);
CUcontext current_context();

// How many pieces of host memory were allocated and not freed.
long host_pieces();

// Memory that the driver knows, from a call that CUPTI's subscriber does not watch.
CUdeviceptr unseen_memory(std::size_t size);

// Code that is loaded by a call that the subscriber does not watch: cuLibraryLoadData, or a launch's lazy loading.
CUmodule unseen_module(const std::string& image);

// One call of the driver, as CUPTI tells of it.
class Told {
 public:
  Told(CUpti_CallbackId id, const char* name, const void* parameters, const char* symbol = nullptr);
  CUresult ended(CUresult result);

 private:
  void tell(CUpti_ApiCallbackSite site);

  CUpti_CallbackId id_;
  const void* parameters_;
  const char* symbol_;
  CUresult result_ = CUDA_SUCCESS;
  std::uint64_t correlation_ = 0;
};

void tell_of_context(CUpti_CallbackId event, CUcontext context);
void tell_of_module(const char* cubin, std::size_t size);

}  // namespace standin

extern "C" {  // as programs call them that are compiled for a default stream of each thread
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, CUstream stream, void** parameters, void** extra);
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph);
}
