"""What every analysis stands on: intervals, names, nesting, passes, statistics."""
