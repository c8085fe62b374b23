"""What the hardware says of the inside of kernels: counters, thread traces, PC samples."""
