"""Causes planted at random are found on clocks that were fitted first: some of the jobs of docs/stragglers.md."""

from __future__ import annotations

import pytest
from bench.straggler_matrix import matrix

JOBS = range(1000, 1008)


@pytest.mark.thorough
def test_every_planted_cause_is_named_and_nothing_else() -> None:
    counts = matrix(JOBS, ranks_of_job=8, steps=20)
    assert counts.total() == len(JOBS)
    assert {planted for planted, _ in counts} > {"compute", "none"}
    assert [pair for pair in counts if pair[0] != pair[1]] == []
