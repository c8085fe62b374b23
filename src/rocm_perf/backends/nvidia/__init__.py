"""NVIDIA: CUDA machines, a tracer on CUPTI, Nsight Compute, and NVML."""
