"""What to do about what is not inside a kernel: one table, and the setting that decides which of its rows fits."""
