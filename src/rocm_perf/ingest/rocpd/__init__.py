"""rocpd, the SQLite database of ROCm 7."""
