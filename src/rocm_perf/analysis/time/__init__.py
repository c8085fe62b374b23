"""Where the time of the GPUs goes."""
