"""A recording that was analysed part by part, because it does not fit into memory: its parts as one document."""
