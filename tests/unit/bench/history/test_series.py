"""Runs apart by their conditions, and the steps among comparable ones."""

from __future__ import annotations

import random

from rocm_perf.bench.history.series import series_of
from rocm_perf.bench.samples import Samples
from tests.unit.bench.history.runs import MACHINE, drawn, level, run

OTHER = {**MACHINE, "uuid": "GPU-2"}


def test_what_was_measured_elsewhere_is_another_series() -> None:
    runs = [level(1.0), level(5.0, machine=OTHER), level(1.1)]
    assert [one.medians_ms for one in series_of(runs)] == [
        [level(5.0).result.median_ms],
        [level(1.0).result.median_ms, level(1.1).result.median_ms],
    ]


def test_a_run_that_failed_is_left_out() -> None:
    broken = run(processes=(Samples(times_ms=(1.0,), clock="device events", fault="died"),))
    assert series_of([broken]) == []


def test_a_step_names_its_commits_and_its_size() -> None:
    source = random.Random(2)
    before = [drawn(source, day=0.003) for _ in range(12)]
    after = [drawn(source, day=0.003, shift=0.1) for _ in range(8)]
    (series,) = series_of([*before, *after])
    (step,) = series.steps
    assert (step.place, step.before, step.after) == (12, before[-1], after[0])
    assert step.difference.verdict == "worse"
    assert step.difference.interval is not None
    assert step.difference.interval.low < 1.105 < step.difference.interval.high
