"""Recordings that many tests look at. A Trace never changes, so each is loaded once, and what is computed once for each
Trace is computed once for all tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rocm_perf.analysis.overview import overview
from rocm_perf.ingest.load import load
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace


@cache
def recording(path: Path) -> Trace:
    """The Trace of a file that no test changes."""
    return load(path)


@cache
def answer(path: Path) -> Document:
    """Everything that is said about such a file."""
    return overview(recording(path), path.name)
