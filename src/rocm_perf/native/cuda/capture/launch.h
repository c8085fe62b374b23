// One kernel launch as the driver is asked for it, whichever of its calls was used.
#pragma once

#include <cupti.h>

#include <utility>
#include <vector>

#include "cuda/driver.h"

namespace rocm_perf {

constexpr CUpti_CallbackId kLaunchCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
};

struct Launch {
  CUfunction function = nullptr;
  unsigned blocks[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned cluster[3] = {1, 1, 1};
  unsigned dynamic_lds = 0;
  bool cooperative = false;
  CUstream stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
};

Launch launch_of(CUpti_CallbackId call, const void* with);

using Layout = std::vector<std::pair<std::size_t, std::size_t>>;  // offset, size of each parameter

// The runtime's handles are kernels, the driver's are functions; each call refuses the other's. Of a kernel without
// parameters the right one says that there is no parameter 0.
Layout layout_of(CUfunction function);

// The kernel's arguments as the kernel sees them: one buffer.
std::vector<char> arguments_of(const Launch& launch, const Layout& layout);

CUmodule module_of(CUfunction function);

}  // namespace rocm_perf
