"""Files that rocprofv3 writes: CSV, JSON, PC samples, statistics."""
