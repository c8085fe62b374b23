"""The file in which the calls that libraries log are gathered (docs/library-traces.md): a CSV of one row for all alike
calls of one process."""

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
