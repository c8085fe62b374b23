"""Two recordings beside each other."""
