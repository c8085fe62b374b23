"""AMD: ROCm machines, rocprofv3, rocprofv2, rocprof, and the SMI tools."""
