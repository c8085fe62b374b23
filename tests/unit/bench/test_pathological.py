"""Unkind recordings cost no more than their size: of eight times the events the cost is far from the square of it.

That would be 64 times the processor time; in proportion it is eight times, and up to twelve on a busy machine.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from bench.pathological_inputs import WRITERS

from rocm_perf.analysis.overview import overview
from rocm_perf.ingest.load import load
from rocm_perf.render import json

pytestmark = pytest.mark.thorough

SMALL, TIMES, AT_MOST = 400, 8, 24
ATTEMPTS = 4  # what is disturbed once is measured again; a square is one each time
CHARACTERS = 50_000  # of one name: as much work as some hundred events


def cpu_s(path: Path) -> float:
    """Processor time from the file to the JSON of everything that is said about it."""
    begin = time.process_time()
    json.encode(overview(load(path), path.name))
    return time.process_time() - begin


@pytest.mark.parametrize("name", WRITERS)
def test_the_cost_does_not_grow_with_the_square_of_the_size(name: str, tmp_path: Path) -> None:
    size = CHARACTERS if "characters" in name else SMALL
    small, large = (WRITERS[name](tmp_path / f"of_{count}", count) for count in (size, TIMES * size))
    cpu_s(small)  # what is read and compiled once
    ratios = (cpu_s(large) / cpu_s(small) for _ in range(ATTEMPTS))
    assert any(ratio < AT_MOST for ratio in ratios)
