"""What rocm-perf itself leaves in the folder of a run."""
