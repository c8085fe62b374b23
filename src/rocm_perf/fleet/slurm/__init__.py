"""A job of SLURM: its script, its states, and what is left of it."""
