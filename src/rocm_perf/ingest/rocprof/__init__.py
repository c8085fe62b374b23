"""Files of rocprof v1, rocprofv2 and roctracer."""
