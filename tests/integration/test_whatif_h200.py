"""Projections beside what was measured on an H200: they must not drift away from docs/whatif.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.whatif_h200 import PAIRS, Pair, outcome

PAGE = Path(__file__).parents[2] / "docs" / "whatif.md"


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.before)
def test_the_projection_is_near_what_was_measured(pair: Pair) -> None:
    found = outcome(pair)
    low, high = found.plain_range
    assert (
        0.85 * low <= found.projected <= high
    )  # between the quartiles, or up to 15 % below: never a false promise


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.before)
def test_the_page_has_the_numbers(pair: Pair) -> None:
    found = outcome(pair)
    row = f"| {pair.title} | {found.projected:.2f}x | {found.windows:.2f}x | {found.profiled:.2f}x |"
    assert row in PAGE.read_text()
