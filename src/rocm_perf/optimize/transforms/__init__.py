"""Changes of kernels that we propose ourselves. Each is a small module with its own guards, and a line in the table."""
