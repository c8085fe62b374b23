"""What the vendors' machines and tools are like: probing them, and each profiler's own command line."""
