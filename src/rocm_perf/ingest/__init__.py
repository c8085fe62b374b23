"""Reading what profilers write: any file or folder becomes a Trace. Nothing read is ever run as code."""
