"""The names of runtime calls, by what they do."""

from __future__ import annotations

# hipLaunchKernel, hipExtModuleLaunchKernel, cuLaunchKernelEx, cudaGraphLaunch, ...
LAUNCH_CALL = r"^(hip|cuda|cu)(Ext|Module|Drv)*Launch|^(hip|cuda|cu)GraphLaunch"
GRAPH_CALL = r"^(hip|cuda|cu)GraphLaunch"
HOST_CALL = r"LaunchHostFunc"  # runs a function of the host in stream order
SYNC_CALL = r"(Device|Stream|Event|Ctx|Context)Synchronize|^hsa_signal_wait"
COPY_CALL = r"^(hip|cuda|cu)Memcpy"
CAPTURE_BEGINS = r"^(hip|cuda|cu)StreamBeginCapture"
CAPTURE_ENDS = r"^(hip|cuda|cu)StreamEndCapture"
