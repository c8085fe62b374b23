"""What profiling costs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.collect.run.overhead import interleaved
from rocm_perf.model.collection import OverheadRecord, PassRecord, measured_overhead


def _run(purpose: str, wall_ns: int, **facts: object) -> PassRecord:
    usual: dict[str, object] = {
        "number": 1,
        "profiler": "rocprofv3",
        "argv": (),
        "exit_status": 0,
        "outcome": "recorded",
    }
    return PassRecord(**{**usual, "purpose": purpose, "wall_ns": wall_ns, **facts})  # type: ignore[arg-type]


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
    assert measured_overhead(passes) == OverheadRecord((100, 104), (130,))
    assert measured_overhead(passes[1:2]) is None
    assert measured_overhead([_run("unprofiled", 1), _run("trace", 1, outcome="failed")]) is None
    assert measured_overhead([_run("unprofiled", 1), _run("wall time", 1, profiled=False)]) is None
