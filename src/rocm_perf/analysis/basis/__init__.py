"""What every analysis builds on: intervals, names, nesting, passes, statistics."""
