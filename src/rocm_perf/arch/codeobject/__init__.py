"""GPU code in files: its kernels, the resources they need, and their instructions."""
