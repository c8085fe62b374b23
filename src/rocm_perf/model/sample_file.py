"""The file that rocm-perf's own sampler writes (docs/samplers.md). Standard library only.

A line that names the format, a line of JSON about the machine and the clocks, a CSV table with one row per GPU and
reading, and at the end a line of JSON about the sampling itself. A sampler that starts again appends all of this.

Once there are more rows than a file may hold, the older ones are thinned: a row then stands for the readings from
START to END, and holds their mean under the metric's name, and the lowest and highest beside it.
"""

from __future__ import annotations

FILE_NAME = "samples.csv"
TITLE = "# rocm-perf samples 1"
COMMENT = "#"
TIME, GPU = "time_ns", "gpu"  # nanoseconds on the boot clock; number among the GPUs of the vendor
START, END, READINGS = "start_ns", "end_ns", "readings"  # empty in the row of a single reading


def lowest_of(metric: str) -> str:
    """The column of the lowest reading of a thinned row."""
    return f"{metric}_min"


def highest_of(metric: str) -> str:
    """The column of the highest reading of a thinned row."""
    return f"{metric}_max"
