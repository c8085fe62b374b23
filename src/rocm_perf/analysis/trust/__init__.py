"""How far a recording can be trusted: coverage, plausibility, the cost of profiling."""
