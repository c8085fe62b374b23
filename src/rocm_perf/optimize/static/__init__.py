"""Candidates without a GPU: compiled for a chip, looked at, ranked. Nothing is measured, nothing is accepted."""
