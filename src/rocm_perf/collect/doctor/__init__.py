"""What works on a machine, what is in the way, and how to mend it."""
