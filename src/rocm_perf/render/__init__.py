"""Documents and Traces in forms that people and programs read."""
