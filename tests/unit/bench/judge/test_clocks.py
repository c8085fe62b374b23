"""Times from laps on a fake clock, and what speaks against them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocm_perf.bench.judge.clocks import Traced, judged_times, own_times
from rocm_perf.bench.judge.comparison import Comparison
from rocm_perf.bench.judge.kernels import Kernels
from rocm_perf.bench.judge.lap import Lap
from rocm_perf.bench.judge.timing import SideLap, Turn

MS = 1_000_000


def side_lap(start_ms: int, wall_ms: float, *, own_ms: float | None = None, early_ms: float = 0.0) -> SideLap:
    lap = Lap(
        started_ns=start_ms * MS,
        ended_ns=int((start_ms + wall_ms) * MS),
        calls=2,
        own_ns=int((wall_ms if own_ms is None else own_ms) * MS),
        nonce=0,
        checksums=(0, 0),
    )
    return SideLap(lap=lap, loaded_ns=(start_ms - 50) * MS, early_cpu_ns=int(early_ms * MS))


def turn(number: int, base: SideLap, new: SideLap) -> Turn:
    return Turn(case=0, base=base, new=new, handover_ns=2 * MS, comparison=Comparison())


def laps(new_ms: float = 12.0, **new_is: float) -> list[Turn]:
    return [
        turn(
            number,
            side_lap(1000 * number, 22.0, own_ms=20.0),
            side_lap(1000 * number + 500, new_ms, **new_is),
        )
        for number in range(5)
    ]


def test_wall_times_are_per_call_and_without_handing_over() -> None:
    times = judged_times(laps(own_ms=10.0), None)
    assert times.clock == "judge's wall clock"
    assert times.totals("base") == (10.0,) * 5
    assert times.totals("new") == (5.0,) * 5
    assert not times.doubts


def test_a_process_that_claims_to_be_faster_than_it_was_is_doubted() -> None:
    (doubt,) = judged_times(laps(own_ms=1.0), None).doubts
    assert "NEW's own clock says 500 us per call and the judge's 5.00 ms" in doubt


def test_what_a_process_claims_within_the_cost_of_handing_over_is_not_doubted() -> None:
    assert not judged_times(laps(new_ms=3.0, own_ms=0.1), None).doubts


def test_handing_over_that_takes_most_of_a_lap_is_said() -> None:
    slow = [replace(turn, handover_ns=15 * MS) for turn in laps()]
    assert any(
        "handing over results takes more than half" in doubt for doubt in judged_times(slow, None).doubts
    )


@pytest.mark.parametrize(("early_ms", "share"), [(0.0, 0.0), (8.0, 0.8)])
def test_work_before_the_clock_is_a_share_of_what_is_saved(early_ms: float, share: float) -> None:
    assert judged_times(laps(own_ms=10.0, early_ms=early_ms), None).early_share == pytest.approx(share)


def test_work_before_the_clock_of_code_that_saves_nothing_is_no_share() -> None:
    assert judged_times(laps(new_ms=30.0, early_ms=8.0), None).early_share == 0.0


def kernels(starts_ms: list[float], length_ms: float) -> Kernels:
    starts = sorted(int(start * MS) for start in starts_ms)
    return Kernels(starts, [start + int(length_ms * MS) for start in starts])


def test_device_timestamps_span_the_kernels_of_a_lap() -> None:
    base = kernels([1000 * number + at for number in range(5) for at in (1, 11)], 8.0)
    new = kernels([1000 * number + 500 + at for number in range(5) for at in (1, 5)], 2.0)
    times = judged_times(laps(own_ms=6.0), Traced(base, new))
    assert times.clock == "device timestamps"
    assert times.totals("base") == (9.0,) * 5  # from 1 ms to 19 ms, for two calls
    assert times.totals("new") == (3.0,) * 5
    assert not times.doubts


def test_kernels_before_the_clock_started_count_as_work_ahead() -> None:
    base = kernels([1000 * number + 1 for number in range(5)], 18.0)
    new = kernels([1000 * number + 500 + at for number in range(5) for at in (-40, 1)], 9.0)
    assert judged_times(laps(), Traced(base, new)).early_share == pytest.approx(1.0)


def test_a_lap_without_kernels_is_timed_by_the_wall() -> None:
    base = kernels([1000 * number + 1 for number in range(5)], 18.0)
    times = judged_times(laps(), Traced(base, kernels([], 1.0)))
    assert times.clock == "judge's wall clock"
    assert "in 5 of 5 laps NEW ran no kernel" in times.doubts[-1]


def test_own_times_are_what_the_processes_say() -> None:
    times = own_times(laps(own_ms=0.0))
    assert times.totals("base") == (10.0,) * 5
    assert max(times.totals("new")) < 1e-5
