"""Where in the model time is spent: by module, forward, recomputed and backward."""
