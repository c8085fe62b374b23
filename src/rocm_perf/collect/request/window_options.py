"""The options that choose a part of the run. Light: every start of rocm-perf builds them; window.py checks them."""

from __future__ import annotations

import argparse

# The options, and under the same names with `_` the keys of `window` in a configuration.
WINDOW_OPTIONS = {
    "delay": ("S", "start recording S seconds after the program starts"),
    "duration": ("S", "record for S seconds; the program goes on"),
    "duty": ("PERCENT", "record this share of the time, in short windows throughout the run: 10%%"),
    "period": ("TIME", "with --duty: the time from one window to the next: 60s, 5min (60s)"),
    "max_size": ("BYTES", "stop recording a process at this size: 500M, 2G"),
    "last": ("S", "keep only the last seconds before the end, or before SIGUSR1"),
    "range": ("NAME", "only while a roctx or NVTX range of this name is open; @profiler: between start and stop calls"),
    "steps": ("A..B", "only these openings of --range; without it, these steps of a torch or JAX program"),
}  # fmt: skip


def add_window(group: argparse._ArgumentGroup) -> None:
    """Add the options."""
    for name, (metavar, meaning) in WINDOW_OPTIONS.items():
        group.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=meaning)
