"""A result goes to JSON and comes back whole; what is not one is refused in a line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocm_perf.bench.samples import Result, Samples
from rocm_perf.errors import InputError

FIRST = Samples(times_ms=(1.0, 2.0, 3.0), clock="device events", first_call_ms=900.0, throttled=(2,))
SECOND = Samples(
    times_ms=(2.0, 4.0, 6.0), clock="device events", peak_memory_bytes=1 << 20, error="it raised"
)
RESULT = Result(target="model:step", processes=(FIRST, SECOND), machine={"gpu": "MI300X"}, date="2026-11-16")


def test_a_result_comes_back_whole() -> None:
    assert Result.from_json(json.loads(json.dumps(RESULT.to_json()))) == RESULT


def test_the_keys_that_guides_use() -> None:
    data = RESULT.to_json()
    assert data["mean_ms"] == 3.0
    assert data["median_ms"] == 3.0  # the median of 2 and 4, not of all six samples (2.5)
    assert (data["min_ms"], data["max_ms"]) == (1.0, 6.0)
    assert data["std_ms"] == pytest.approx(1.789, abs=1e-3)
    assert data["p5_ms"] < data["p95_ms"] < data["p99_ms"] < 6.0
    low, high = data["interval_ms"]
    assert low < 2.0
    assert high > 4.0
    assert data["interval_scope"] == "over processes"
    assert data["processes"][1]["times_ms"] == (2.0, 4.0, 6.0)


def test_one_process_is_labelled_so() -> None:
    one = Result(
        target="t", processes=(Samples(times_ms=tuple(map(float, range(1, 21))), clock="wall clock"),)
    )
    assert one.to_json()["interval_scope"] == "this process alone"


def test_a_process_without_samples_does_not_count() -> None:
    nothing = Samples(times_ms=(), clock="wall clock", error="does not import")
    assert Result(target="t", processes=(FIRST, nothing)).median_ms == 2.0
    assert "mean_ms" not in Result(target="t", processes=(nothing,)).to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 2},
        {"processes": None},
        {"processes": [{"clock": "sundial", "times_ms": [1]}]},
        {"processes": [{"clock": "wall clock", "times_ms": [0.0]}]},
        {"processes": [{"clock": "wall clock", "times_ms": ["fast"]}]},
        {"processes": [7]},
    ],
)
def test_what_is_not_a_result_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not a result of rocm-perf bench"):
        Result.from_json({**RESULT.to_json(), **change})
