// Stand-in for CUDA's driver: one GPU whose memory is host memory. A kernel adds one to the number that its argument
// points to; the kernel `nothing` takes no argument.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "standin.h"

using standin::Told;

struct CUctx_st {};
struct CUmod_st {
  std::map<std::string, CUdeviceptr> variables;
};
struct CUfunc_st {
  CUmodule module;
  std::string name;
};

namespace {

constexpr std::size_t kPage = 4096, kForeign = 1 << 20;

struct Block {
  std::size_t size;
  CUcontext context;  // null: outlives every context
};

std::mutex lock;
std::map<std::uint64_t, Block> blocks;                // what can be read and written
std::map<CUmemGenericAllocationHandle, int> handles;  // to files in memory
std::set<CUstream> recorded;
bool spoilt = false;
CUctx_st contexts[4];
std::size_t made_contexts = 0;
std::atomic<long> pinned{0};
thread_local CUcontext current = nullptr;

std::size_t pages(std::size_t size) { return (size + kPage - 1) / kPage * kPage; }

CUdeviceptr map_pages(std::size_t size, int protection) {
  void* at = ::mmap(nullptr, pages(size), protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return reinterpret_cast<CUdeviceptr>(at);
}

CUdeviceptr new_block(std::size_t size, CUcontext context) {
  CUdeviceptr at = map_pages(size, PROT_READ | PROT_WRITE);
  std::lock_guard<std::mutex> hold(lock);
  blocks[at] = {size, context};
  return at;
}

CUresult drop_block(CUdeviceptr at) {
  std::lock_guard<std::mutex> hold(lock);
  auto found = blocks.find(at);
  if (found == blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  ::munmap(reinterpret_cast<void*>(at), pages(found->second.size));
  blocks.erase(found);
  return CUDA_SUCCESS;
}

std::map<std::uint64_t, Block>::iterator block_of(CUdeviceptr at) {  // with the lock held
  auto next = blocks.upper_bound(at);
  if (next == blocks.begin() || at >= std::prev(next)->first + std::prev(next)->second.size) return blocks.end();
  return std::prev(next);
}

bool is_memory(CUdeviceptr at, std::size_t size) {
  std::lock_guard<std::mutex> hold(lock);
  auto found = block_of(at);
  return found != blocks.end() && at + size <= found->first + found->second.size;
}

bool is_recorded(CUstream stream) {
  std::lock_guard<std::mutex> hold(lock);
  return recorded.count(stream) != 0;
}

CUresult run(CUfunction function, CUstream stream, void** parameters) {
  if (is_recorded(stream) || function->name == "nothing") return CUDA_SUCCESS;
  if (!parameters) return CUDA_ERROR_INVALID_VALUE;
  auto at = *static_cast<CUdeviceptr*>(parameters[0]);
  if (is_memory(at, 8)) ++*reinterpret_cast<std::uint64_t*>(at);
  return CUDA_SUCCESS;
}

std::size_t size_of(const char* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
}

CUresult begin_recording(CUstream stream) {
  std::lock_guard<std::mutex> hold(lock);
  recorded.insert(stream);
  return CUDA_SUCCESS;
}

CUresult end_recording(CUstream stream) {
  std::lock_guard<std::mutex> hold(lock);
  if (!recorded.erase(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  return spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUmemGenericAllocationHandle new_handle(std::size_t size) {  // the lowest number that is free: they come again
  std::lock_guard<std::mutex> hold(lock);
  CUmemGenericAllocationHandle number = 1;
  while (handles.count(number)) ++number;
  handles[number] = ::memfd_create("device", 0);
  return ::ftruncate(handles[number], static_cast<off_t>(size)) == 0 ? number : 0;
}

CUresult drop_handle(CUmemGenericAllocationHandle handle) {
  std::lock_guard<std::mutex> hold(lock);
  return handles.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult map_handle(CUmemGenericAllocationHandle handle, CUdeviceptr at, std::size_t size, off_t offset) {
  std::lock_guard<std::mutex> hold(lock);
  auto found = handles.find(handle);
  if (found == handles.end()) return CUDA_ERROR_INVALID_VALUE;
  void* to = reinterpret_cast<void*>(at);
  ::mmap(to, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, found->second, offset);
  blocks[at] = {size, nullptr};
  return CUDA_SUCCESS;
}

void inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path ? ::dlopen(path, RTLD_NOW) : nullptr;
  if (path && !library) std::fprintf(stderr, "%s\n", ::dlerror());
  void* entry = library ? ::dlsym(library, "InitializeInjection") : nullptr;
  if (entry) reinterpret_cast<int (*)()>(entry)();
}

}  // namespace

namespace standin {

CUcontext current_context() { return current; }

CUcontext make_context() {
  CUcontext context = &contexts[made_contexts++];
  tell_of_context(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context);
  return context;
}

void destroy_context(CUcontext context) {
  tell_of_context(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context);
  std::lock_guard<std::mutex> hold(lock);
  for (auto at = blocks.begin(); at != blocks.end();)
    at = at->second.context == context ? blocks.erase(at) : std::next(at);
}

long host_pieces() { return pinned; }

CUdeviceptr unseen_memory(std::size_t size) { return new_block(size, nullptr); }

CUmodule unseen_module(const std::string& image) {
  tell_of_module(image.data(), image.size());
  return new CUmod_st();
}

}  // namespace standin

#undef cuDeviceGetUuid_v2  // newer headers map the old name to it
#define TOLD(call, ...)            \
  call##_params with{__VA_ARGS__}; \
  Told told(CUPTI_DRIVER_TRACE_CBID_##call, #call, &with)

extern "C" {

CUresult cuInit(unsigned) { return inject(), CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult result, const char** text) {
  static const std::map<CUresult, const char*> names{
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}};
  auto known = names.find(result);
  return *text = known == names.end() ? "another" : known->second, CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) { return std::snprintf(name, size, "stand-in"), CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) { return *value = 9, CUDA_SUCCESS; }
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) { return *bytes = 1 << 30, CUDA_SUCCESS; }
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) { return std::memset(uuid, 0, sizeof *uuid), CUDA_SUCCESS; }

CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = current, CUDA_SUCCESS; }
CUresult cuCtxPushCurrent_v2(CUcontext context) { return current = context, CUDA_SUCCESS; }
CUresult cuCtxPopCurrent_v2(CUcontext* context) { return *context = current, current = nullptr, CUDA_SUCCESS; }

CUresult cuCtxSynchronize() {
  Told told(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize", nullptr);
  bool during = false;
  {
    std::lock_guard<std::mutex> hold(lock);
    during = !recorded.empty();
    spoilt = spoilt || during;
  }
  return told.ended(during ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t size) {
  TOLD(cuMemAlloc_v2, out, size);
  *out = new_block(size, current);
  return told.ended(CUDA_SUCCESS);
}

CUresult cuMemFree_v2(CUdeviceptr at) {
  TOLD(cuMemFree_v2, at);
  return told.ended(drop_block(at));
}

CUresult cuMemAllocAsync(CUdeviceptr* out, size_t size, CUstream stream) {
  TOLD(cuMemAllocAsync, out, size, stream);
  *out = is_recorded(stream) ? map_pages(size, PROT_NONE) : new_block(size, nullptr);
  return told.ended(CUDA_SUCCESS);
}

CUresult cuMemHostAlloc(void** out, size_t size, unsigned flags) {
  TOLD(cuMemHostAlloc, out, size, flags);
  *out = std::malloc(size);
  ++pinned;
  return told.ended(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void* at) {
  TOLD(cuMemFreeHost, at);
  std::free(at);
  --pinned;
  return told.ended(CUDA_SUCCESS);
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size) {
  TOLD(cuMemcpyDtoH_v2, to, from, size);
  if (!is_memory(from, size)) return told.ended(CUDA_ERROR_INVALID_VALUE);
  std::memcpy(to, reinterpret_cast<void*>(from), size);
  return told.ended(CUDA_SUCCESS);
}

CUresult cuMemsetD8_v2(CUdeviceptr at, unsigned char byte, size_t count) {
  if (!is_memory(at, count)) return CUDA_ERROR_INVALID_VALUE;
  return std::memset(reinterpret_cast<void*>(at), byte, count), CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  TOLD(cuMemCreate, out, size, prop, flags);
  *out = new_handle(size);
  return told.ended(CUDA_SUCCESS);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out, void* foreign,
                                        CUmemAllocationHandleType type) {
  TOLD(cuMemImportFromShareableHandle, out, foreign, type);
  *out = new_handle(kForeign);
  return told.ended(CUDA_SUCCESS);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  TOLD(cuMemRelease, handle);
  return told.ended(drop_handle(handle));
}

CUresult cuMemAddressReserve(CUdeviceptr* out, size_t size, size_t, CUdeviceptr, unsigned long long) {
  return *out = map_pages(size, PROT_NONE), CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  TOLD(cuMemMap, at, size, offset, handle, flags);
  return told.ended(map_handle(handle, at, size, static_cast<off_t>(offset)));
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  TOLD(cuIpcOpenMemHandle_v2, out, handle, flags);
  *out = new_block(kForeign, nullptr);
  return told.ended(CUDA_SUCCESS);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr at) {
  std::lock_guard<std::mutex> hold(lock);
  auto found = block_of(at);
  if (found == blocks.end()) return CUDA_ERROR_NOT_FOUND;
  return *base = found->first, *size = found->second.size, CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr at) {
  if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || !is_memory(at, 1)) return CUDA_ERROR_INVALID_VALUE;
  return *static_cast<unsigned*>(out) = CU_MEMORYTYPE_DEVICE, CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  TOLD(cuStreamBeginCapture_v2, stream, mode);
  return told.ended(begin_recording(stream));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  TOLD(cuStreamBeginCapture_v2_ptsz, stream, mode);
  return told.ended(begin_recording(stream ? stream : CU_STREAM_PER_THREAD));
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  TOLD(cuStreamEndCapture, stream, graph);
  return told.ended(end_recording(stream));
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  TOLD(cuStreamEndCapture_ptsz, stream, graph);
  return told.ended(end_recording(stream ? stream : CU_STREAM_PER_THREAD));
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = is_recorded(stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  TOLD(cuModuleLoadData, out, image);
  auto* cubin = static_cast<const char*>(image);
  standin::tell_of_module(cubin, size_of(cubin));
  *out = new CUmod_st();
  return told.ended(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  return *out = new CUfunc_st{module, name}, CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* at, size_t* size, CUmodule module, const char* name) {
  *size = 4096;
  CUdeviceptr& known = module->variables[name];
  return *at = known ? known : known = new_block(*size, nullptr), CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule* out, CUfunction function) { return *out = function->module, CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) { return *value = 0, CUDA_SUCCESS; }
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  if (index > 0 || function->name == "nothing") return CUDA_ERROR_INVALID_VALUE;
  return *offset = 0, *size = 8, CUDA_SUCCESS;
}
CUresult cuKernelGetParamInfo(CUkernel, size_t, size_t*, size_t*) { return CUDA_ERROR_INVALID_HANDLE; }

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void** parameters, void** extra) {
  cuLaunchKernel_params with{f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra};
  Told told(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel", &with, f->name.c_str());
  return told.ended(run(f, stream, parameters));
}

CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, CUstream stream, void** parameters, void** extra) {
  cuLaunchKernel_ptsz_params with{f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra};
  Told told(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, "cuLaunchKernel_ptsz", &with, f->name.c_str());
  return told.ended(run(f, stream ? stream : CU_STREAM_PER_THREAD, parameters));
}
}
