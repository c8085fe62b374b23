"""What profiling costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.collect.run.overhead import describe, inflation, interleaved, measured
from rocm_perf.model.collection import CollectionRecord, OverheadRecord, PassRecord


def _run(purpose: str, wall_ns: int, **facts: object) -> PassRecord:
    usual: dict[str, object] = {
        "number": 1,
        "profiler": "rocprofv3",
        "argv": (),
        "exit_status": 0,
        "outcome": "recorded",
    }
    return PassRecord(**{**usual, "purpose": purpose, "wall_ns": wall_ns, **facts})  # type: ignore[arg-type]


def _record(overhead: OverheadRecord | None = None, profiler: str = "rocprofv3") -> CollectionRecord:
    return CollectionRecord(
        run_id="r",
        host="h",
        pid=1,
        command=(),
        folder="",
        started_at="",
        profiler=profiler,
        overhead=overhead,
    )


@given(st.integers(0, 6), st.integers(1, 4))
def test_every_run_happens_once_and_around_the_first(count: int, profiled: int) -> None:
    runs = interleaved(list(range(profiled)), count)
    assert [run for run in runs if run is not None] == list(range(profiled))
    assert runs.count(None) == count
    before = runs.index(0)
    assert abs(before - (count - before)) <= 1
    assert None not in runs[count + 1 :]


def test_only_runs_of_one_kind_are_compared() -> None:
    passes = [
        _run("unprofiled", 100),
        _run("trace", 130),
        _run("counters", 900, counters=("A",)),
        _run("unprofiled", 110, exit_status=1),
        _run("unprofiled", 104),
    ]
    assert measured(passes) == OverheadRecord((100, 104), (130,))
    assert measured(passes[1:2]) is None
    assert measured([_run("unprofiled", 1), _run("trace", 1, outcome="failed")]) is None
    assert measured([_run("unprofiled", 1), _run("timing", 1, profiler="timing")]) is None


def test_inflation_has_a_spread() -> None:
    assert inflation(OverheadRecord((100, 80, 125), (150,))) == (1.5, 150 / 125, 150 / 80)
    middle, least, most = inflation(OverheadRecord((100, 200), (300, 600)))
    assert (middle, least, most) == (3.0, 1.5, 6.0)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (_record(), "include the overhead of rocprofv3, which was not measured"),
        (_record(profiler="timing"), "No profiler ran"),
        (
            _record(OverheadRecord((10**9,), (13 * 10**8,))),
            "1.30 s, without it 1.00 s (1 run): 1.30 times as long.",
        ),
        (
            _record(OverheadRecord((10**9, 2 * 10**9), (3 * 10**9,))),
            "2.00 times as long, 1.50 to 3.00 over the runs.",
        ),
    ],
)
def test_the_sentence_never_leaves_it_open(record: CollectionRecord, words: str) -> None:
    assert words in describe(record)
