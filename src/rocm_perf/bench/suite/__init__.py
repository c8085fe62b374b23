"""Products of matrices by every means that a machine has: which are right, how fast, and how near to the peak."""
