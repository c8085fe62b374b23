// Stand-in for the driver: two GPUs. A launch takes a microsecond, and three more while a tracer is named; of each
// kernel in a graph half as much.
#include <cuda.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#undef cuDeviceGetUuid_v2  // newer headers map the old name to it

namespace {

bool is_traced() {
  static const bool traced = std::getenv("CUDA_INJECTION64_PATH");
  return traced;
}

bool is_capturing = false;
std::size_t captured = 0;  // kernels

void spin(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

extern "C" {
CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice) { return CUDA_SUCCESS; }
// As the program has told the stand-in for CUPTI.
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  static const auto has_context = reinterpret_cast<bool (*)(unsigned)>(dlsym(RTLD_DEFAULT, "standin_has_context"));
  return *flags = 0, *active = !has_context || has_context(device), CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxSynchronize() {
  if (const auto wait = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "standin_gpu_is_idle"))) wait();
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule*, const void*) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*) { return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void**, void**) {
  if (is_capturing) return ++captured, CUDA_SUCCESS;
  return spin(std::chrono::microseconds(is_traced() ? 4 : 1)), CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream*, unsigned) { return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) {
  return is_capturing = true, captured = 0, CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream, CUgraph*) { return is_capturing = false, CUDA_SUCCESS; }
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long) { return CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec, CUstream) {
  return spin(captured * std::chrono::nanoseconds(is_traced() ? 2000 : 500)), CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) { return *count = 2, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  return std::strncpy(name, "NVIDIA \"Stand-in\"", size), CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) { return *bytes = 150109880320u, CUDA_SUCCESS; }
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return std::memset(uuid->bytes, 0xa0 + device, 16), CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = 1980000;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      *value = 233472;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
}
