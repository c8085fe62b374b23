// The CUDA driver, found at run time: nothing here links against it, so one build serves every driver.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <string>

namespace rocm_perf {

struct Driver {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(library ? ::dlsym(library, name) : nullptr);
  }

#define ROCM_PERF_CUDA(name, symbol) decltype(::symbol)* name = find<decltype(::symbol)>(#symbol)
  ROCM_PERF_CUDA(init, cuInit);
  ROCM_PERF_CUDA(version, cuDriverGetVersion);
  ROCM_PERF_CUDA(error_name, cuGetErrorName);
  ROCM_PERF_CUDA(device_get, cuDeviceGet);
  ROCM_PERF_CUDA(device_count, cuDeviceGetCount);
  ROCM_PERF_CUDA(device_name, cuDeviceGetName);
  ROCM_PERF_CUDA(device_attribute, cuDeviceGetAttribute);
  ROCM_PERF_CUDA(device_memory, cuDeviceTotalMem_v2);
  ROCM_PERF_CUDA(device_uuid, cuDeviceGetUuid_v2);
  ROCM_PERF_CUDA(context_retain, cuDevicePrimaryCtxRetain);
  ROCM_PERF_CUDA(context_set, cuCtxSetCurrent);
  ROCM_PERF_CUDA(context_get, cuCtxGetCurrent);
  ROCM_PERF_CUDA(context_push, cuCtxPushCurrent_v2);
  ROCM_PERF_CUDA(context_pop, cuCtxPopCurrent_v2);
  ROCM_PERF_CUDA(context_device, cuCtxGetDevice);
  ROCM_PERF_CUDA(context_synchronize, cuCtxSynchronize);
  ROCM_PERF_CUDA(memory_info, cuMemGetInfo_v2);
  ROCM_PERF_CUDA(address_range, cuMemGetAddressRange_v2);
  ROCM_PERF_CUDA(pointer_attribute, cuPointerGetAttribute);
  ROCM_PERF_CUDA(copy_to_host, cuMemcpyDtoH_v2);
  ROCM_PERF_CUDA(copy_to_device, cuMemcpyHtoD_v2);
  ROCM_PERF_CUDA(fill, cuMemsetD8_v2);
  ROCM_PERF_CUDA(allocate, cuMemAlloc_v2);
  ROCM_PERF_CUDA(host_allocate, cuMemHostAlloc);
  ROCM_PERF_CUDA(host_free, cuMemFreeHost);
  ROCM_PERF_CUDA(stream_is_capturing, cuStreamIsCapturing);
  ROCM_PERF_CUDA(address_reserve, cuMemAddressReserve);
  ROCM_PERF_CUDA(address_free, cuMemAddressFree);
  ROCM_PERF_CUDA(memory_create, cuMemCreate);
  ROCM_PERF_CUDA(memory_map, cuMemMap);
  ROCM_PERF_CUDA(memory_access, cuMemSetAccess);
  ROCM_PERF_CUDA(granularity, cuMemGetAllocationGranularity);
  ROCM_PERF_CUDA(module_load, cuModuleLoadData);
  ROCM_PERF_CUDA(module_function, cuModuleGetFunction);
  ROCM_PERF_CUDA(module_global, cuModuleGetGlobal_v2);
  ROCM_PERF_CUDA(function_module, cuFuncGetModule);
  ROCM_PERF_CUDA(function_attribute, cuFuncGetAttribute);
  ROCM_PERF_CUDA(function_set_attribute, cuFuncSetAttribute);
  ROCM_PERF_CUDA(event_create, cuEventCreate);
  ROCM_PERF_CUDA(event_record, cuEventRecord);
  ROCM_PERF_CUDA(event_query, cuEventQuery);
  ROCM_PERF_CUDA(event_synchronize, cuEventSynchronize);
  ROCM_PERF_CUDA(event_elapsed, cuEventElapsedTime);
  ROCM_PERF_CUDA(launch, cuLaunchKernel);
  ROCM_PERF_CUDA(launch_with, cuLaunchKernelEx);
#undef ROCM_PERF_CUDA
#if CUDA_VERSION >= 12040
  decltype(::cuFuncGetParamInfo)* function_parameter = find<decltype(::cuFuncGetParamInfo)>("cuFuncGetParamInfo");
  decltype(::cuKernelGetParamInfo)* kernel_parameter = find<decltype(::cuKernelGetParamInfo)>("cuKernelGetParamInfo");
#endif
#if CUDA_VERSION >= 12000
  decltype(::cuKernelGetFunction)* kernel_function = find<decltype(::cuKernelGetFunction)>("cuKernelGetFunction");
#endif

  std::string name_of(CUresult result) const;
  void check(CUresult result, const std::string& what) const;
};

const Driver& driver();

}  // namespace rocm_perf
