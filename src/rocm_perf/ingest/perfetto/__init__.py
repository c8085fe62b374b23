"""Perfetto traces of rocprofv3 and rocprof-sys."""
