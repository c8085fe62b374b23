"""A stand-in for the native runners, for tests of the Python side."""
