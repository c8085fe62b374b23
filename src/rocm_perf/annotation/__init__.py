"""Ranges and marks from the user's own code, for the profiler that is watching it. Standard library only."""
