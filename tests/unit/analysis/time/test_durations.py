"""Durations of a kernel, thinned."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.analysis.time.durations import POINTS, durations
from rocm_perf.model.results.times import Durations


def dispatches(kernel: str, lengths: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"kernel": kernel, "start_ns": range(len(lengths)), "duration": lengths})


def test_few_dispatches_are_kept_one_by_one_in_the_order_of_their_starts() -> None:
    frame = dispatches("a", [10, 30, 20]).reverse()
    assert durations(frame)["a"].course_ns == (10, 30, 20)


def test_many_are_means_of_equal_parts() -> None:
    course = durations(dispatches("a", [100] * 320 + [200] * 320))["a"].course_ns
    assert course == (100.0,) * 16 + (200.0,) * 16


def test_equal_ratios_are_equal_buckets() -> None:
    counts = durations(dispatches("a", [1, 2**8, 2**8, 2**16]))["a"].counts
    assert len(counts) == POINTS
    assert (counts[0], counts[16], counts[31]) == (1, 2, 1)
    assert sum(counts) == 4


def test_one_duration_is_one_bucket() -> None:
    assert durations(dispatches("a", [7, 7]))["a"] == Durations(course_ns=(7, 7), counts=(2,))


def test_a_duration_of_zero_does_no_harm() -> None:
    both = durations(pl.concat((dispatches("a", [0, 5]), dispatches("b", [0]))))
    assert sum(both["a"].counts) == 2
    assert both["b"].counts == (1,)
    assert both["a"].course_ns == pytest.approx((0, 5))
