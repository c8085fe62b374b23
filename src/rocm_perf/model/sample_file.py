"""The file that rocm-perf's own sampler writes (docs/samplers.md). Standard library only.

A line that names the format, a line of JSON about the machine and the clocks, a CSV table with one row per GPU and
reading, and at the end a line of JSON about the sampling itself. A sampler that starts again appends all of this.
"""

from __future__ import annotations

FILE_NAME = "samples.csv"
TITLE = "# rocm-perf samples 1"
COMMENT = "#"
TIME, GPU = "time_ns", "gpu"  # nanoseconds on the boot clock; number among the GPUs of the vendor
