"""Why GPUs stand idle, and what launching, waiting, copying and communicating cost."""
