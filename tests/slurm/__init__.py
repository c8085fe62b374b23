"""A real SLURM of two nodes on this machine, and jobs with four ranks: `make test-slurm`."""
