"""Why GPUs are idle, and what launching, waiting, copying and communicating cost."""
