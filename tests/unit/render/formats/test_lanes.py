"""Lanes: what shares one lies inside or behind one another."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.render.formats.lanes import lanes_of
from tests.properties import examples


def framed(spans: list[tuple[int, int, int]]) -> pl.DataFrame:
    """Spans (track, start, length) in the order that lanes_of wants."""
    rows = [(track, start, start + length) for track, start, length in spans]
    frame = pl.DataFrame(rows, {"track": pl.UInt32, "start_ns": pl.Int64, "end_ns": pl.Int64}, orient="row")
    return frame.sort("track", "start_ns", -pl.col("end_ns"))


def crosses(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (start, end), (later, later_end) = sorted((one, other), key=lambda span: (span[0], -span[1]))
    return later < end < later_end and start < later


def crossing_pairs(frame: pl.DataFrame, by: list[str]) -> int:
    pairs = 0
    for group in frame.partition_by(by):
        spans = list(group.select("start_ns", "end_ns").iter_rows())
        pairs += sum(crosses(one, other) for place, one in enumerate(spans) for other in spans[:place])
    return pairs


@examples(times=2)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 15), st.integers(0, 8)), max_size=14))
def test_nothing_in_a_lane_crosses_and_lanes_are_added_only_where_something_does(
    spans: list[tuple[int, int, int]],
) -> None:
    frame = framed(spans)
    laned = frame.with_columns(lanes_of(frame))
    assert crossing_pairs(laned, ["track", "lane"]) == 0
    for track in laned.partition_by("track"):
        assert (track["lane"].n_unique() > 1) == (crossing_pairs(track, ["track"]) > 0)


def test_thirty_thousand_kernels_at_once_have_as_many_lanes() -> None:
    """Each starts and ends after the one before: a search over all lanes would take minutes."""
    count = 30_000
    frame = framed([(0, start, count) for start in range(count)])
    assert lanes_of(frame).n_unique() == count
