"""What a source file of CUDA or HIP says about its kernels, read from its syntax tree. Nothing here changes a text."""
