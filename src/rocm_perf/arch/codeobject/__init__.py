"""GPU code in files: which kernels it holds, what they ask for, and which instructions they are made of."""
