"""Pure functions from a Trace to results: no I/O, no clock, no printing."""
