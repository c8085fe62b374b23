"""Proof that a candidate does what the original does: on captured memory, on memory that nobody has seen, and in the
program itself."""
