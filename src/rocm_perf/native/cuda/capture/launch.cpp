#include "cuda/capture/launch.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace rocm_perf {
namespace {

// Compiled for a default stream of each thread: no stream means that one.
bool is_per_thread(CUpti_CallbackId call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz || call == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz ||
         call == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
}

}  // namespace

Launch launch_of(CUpti_CallbackId call, const void* with) {
  Launch out;
  if (call == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx || call == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz) {
    auto* given = static_cast<const cuLaunchKernelEx_params*>(with);
    const CUlaunchConfig& config = *given->config;
    CUstream stream = is_per_thread(call) && !config.hStream ? CU_STREAM_PER_THREAD : config.hStream;
    out = {given->f,
           {config.gridDimX, config.gridDimY, config.gridDimZ},
           {config.blockDimX, config.blockDimY, config.blockDimZ},
           {1, 1, 1},
           config.sharedMemBytes,
           false,
           stream,
           given->kernelParams,
           given->extra};
    for (unsigned index = 0; index < config.numAttrs; ++index) {
      const CUlaunchAttribute& attribute = config.attrs[index];
      if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) out.cooperative = attribute.value.cooperative != 0;
      if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        out.cluster[0] = attribute.value.clusterDim.x;
        out.cluster[1] = attribute.value.clusterDim.y;
        out.cluster[2] = attribute.value.clusterDim.z;
      }
    }
    return out;
  }
  // The cooperative call has the same fields in the same order, without `extra`.
  auto* given = static_cast<const cuLaunchKernel_params*>(with);
  out = {given->f,
         {given->gridDimX, given->gridDimY, given->gridDimZ},
         {given->blockDimX, given->blockDimY, given->blockDimZ},
         {1, 1, 1},
         given->sharedMemBytes,
         false,
         given->hStream,
         given->kernelParams,
         nullptr};
  out.cooperative = call == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel ||
                    call == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
  if (!out.cooperative) out.extra = given->extra;
  if (is_per_thread(call) && !out.stream) out.stream = CU_STREAM_PER_THREAD;
  return out;
}

Layout layout_of(CUfunction function) {
  Layout out;
#if CUDA_VERSION >= 12040
  auto kernel = reinterpret_cast<CUkernel>(function);
  auto ask = [](auto* call, auto handle, std::size_t index, std::size_t* offset, std::size_t* size) {
    return call ? call(handle, index, offset, size) : CUDA_ERROR_NOT_FOUND;
  };
  for (std::size_t index = 0;; ++index) {
    std::size_t offset = 0, size = 0;
    CUresult of_function = ask(driver().function_parameter, function, index, &offset, &size);
    CUresult of_kernel = of_function == CUDA_SUCCESS ? CUDA_ERROR_NOT_FOUND
                                                     : ask(driver().kernel_parameter, kernel, index, &offset, &size);
    if (of_function == CUDA_SUCCESS || of_kernel == CUDA_SUCCESS) {
      out.emplace_back(offset, size);
      continue;
    }
    if (index > 0 || of_function == CUDA_ERROR_INVALID_VALUE || of_kernel == CUDA_ERROR_INVALID_VALUE) return out;
    throw std::runtime_error("this driver does not tell the kernel's parameters (CUDA 12.4 or newer does): " +
                             driver().name_of(of_kernel));
  }
#else
  (void)function;
  throw std::runtime_error("the CUDA headers here are older than 12.4, which tell a kernel's parameters");
#endif
}

std::vector<char> arguments_of(const Launch& launch, const Layout& layout) {
  for (void** entry = launch.extra; entry && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry != CU_LAUNCH_PARAM_BUFFER_POINTER) continue;
    std::size_t size = 0;
    for (void** other = launch.extra; *other != CU_LAUNCH_PARAM_END; other += 2)
      if (*other == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<std::size_t*>(other[1]);
    auto* data = static_cast<const char*>(entry[1]);
    return std::vector<char>(data, data + size);
  }
  if (!launch.parameters && !layout.empty())
    throw std::runtime_error("the launch has no arguments, its kernel takes some");
  std::size_t end = 0;
  for (const auto& parameter : layout) end = std::max(end, parameter.first + parameter.second);
  std::vector<char> out(end, 0);
  for (std::size_t index = 0; index < layout.size(); ++index)
    std::memcpy(out.data() + layout[index].first, launch.parameters[index], layout[index].second);
  return out;
}

CUmodule module_of(CUfunction function) {
  CUmodule module = nullptr;
  if (driver().function_module && driver().function_module(&module, function) == CUDA_SUCCESS) return module;
#if CUDA_VERSION >= 12000
  CUfunction real = nullptr;
  auto kernel = reinterpret_cast<CUkernel>(function);
  if (driver().kernel_function && driver().kernel_function(&real, kernel) == CUDA_SUCCESS)
    if (driver().function_module(&module, real) == CUDA_SUCCESS) return module;
#endif
  return nullptr;
}

}  // namespace rocm_perf
