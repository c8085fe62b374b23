"""The line of a slice within its track."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.timeline.lines import DEEPEST, lines

SPANS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40), st.integers(0, 12)), max_size=40)


def placed(*spans: tuple[int, int, int]) -> list[int]:
    """The lines of spans, each of a track, a start and an end."""
    frame = pl.DataFrame(list(spans), schema=["track", "start_ns", "end_ns"], orient="row")
    return lines(frame).to_list()


def test_nested_and_overlapping() -> None:
    assert placed((0, 0, 10), (0, 1, 5), (0, 2, 3), (0, 6, 8)) == [0, 1, 2, 1]
    assert placed((0, 0, 10), (0, 5, 15), (0, 12, 20), (0, 16, 18)) == [0, 1, 0, 1]
    assert placed((0, 0, 10), (1, 5, 8), (1, 8, 9)) == [0, 0, 0]


def test_no_line_is_deeper_than_a_byte() -> None:
    assert placed(*((0, start, 1000) for start in range(300)))[-1] == DEEPEST


@given(SPANS)
def test_the_first_line_that_is_free(spans: list[tuple[int, int, int]]) -> None:
    """As the definition has it, slice by slice; the code is quicker about it."""
    ordered = sorted(
        ((track, start, start + length) for track, start, length in spans), key=lambda s: (*s[:2], -s[2])
    )
    free: dict[tuple[int, int], int] = {}
    expected = []
    for track, start, end in ordered:
        line = next(line for line in range(len(ordered)) if free.get((track, line), 0) <= start)
        free[track, line] = end
        expected.append(line)
    assert placed(*ordered) == expected
