"""Framework operators, the kernels they own and the work that their shapes imply."""
