"""Recordings that many tests look at. A Trace never changes, so each is loaded once, and what is computed once for each
Trace is computed once for all tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace


@cache
def recording(path: Path) -> Trace:
    """The Trace of a file that no test changes."""
    return load(path)
