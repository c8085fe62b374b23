"""The file that collects the calls that libraries log (docs/library-traces.md): a CSV with one row for all equal calls
of one process."""

from __future__ import annotations

FILE_NAME = "library_trace.csv"
COLUMNS = (
    "library",
    "call",
    "calls",
    "m",
    "n",
    "k",
    "batch_count",
    "transposes",
    "dtypes",
    "compute_type",
    "solution",
    "size_bytes",
    "group",
    "group_size",
    "rank",
    "pid",
    "parameters",
)
