"""The names of runtime calls, by what they do."""

from __future__ import annotations

# hipLaunchKernel, hipExtModuleLaunchKernel, cuLaunchKernelEx, cudaGraphLaunch, ...
LAUNCH_CALL = r"^(hip|cuda|cu)(Ext|Module|Drv)*Launch|^(hip|cuda|cu)GraphLaunch"
GRAPH_CALL = r"^(hip|cuda|cu)GraphLaunch"
HOST_CALL = r"LaunchHostFunc"  # runs a function of the host in stream order
SYNC_CALL = r"(Device|Stream|Event|Ctx|Context)Synchronize|^hsa_signal_wait"
COPY_CALL = r"^(hip|cuda|cu)Memcpy"
# hipMalloc, hipFree, cuMemAlloc_v2, cuMemFree_v2, ...: of the driver, not from a pool of the program's (MallocAsync)
ALLOCATION_CALL = r"^(hip|cuda|cu)(Host|Mem)?(Malloc|Alloc|Free)(Managed|Pitch|Host|Array|3D)*(_v\d)?$"
CAPTURE_BEGINS = r"^(hip|cuda|cu)StreamBeginCapture"
CAPTURE_ENDS = r"^(hip|cuda|cu)StreamEndCapture"
