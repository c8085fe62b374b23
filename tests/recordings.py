"""Recordings that many tests look at. A Trace never changes, so each is loaded once, and what is computed once for each
Trace is computed once for all tests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

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


def sampled(names: Iterable[str]) -> list[Any]:
    """Parameters of a test that is made for every recording: about a fifth of them, the same ones in every test, in
    `make test`, and the others in `make test-properties`."""
    return [
        pytest.param(name, marks=[pytest.mark.thorough] if crc32(name.encode()) % 5 else []) for name in names
    ]
