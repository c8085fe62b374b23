"""Recordings of NVIDIA GPUs: our CUPTI tracer, Nsight Compute, Nsight Systems."""
