"""What profiling cost: wall times of the whole program without the profiler beside those with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rocm_perf.model.collection import CollectionRecord, OverheadRecord, PassRecord
from rocm_perf.units import format_count, format_ns

Run = TypeVar("Run")
UNPROFILED = "unprofiled"


def interleaved(profiled: Sequence[Run], count: int) -> list[Run | None]:
    """The profiled runs with `count` unprofiled ones (None) around the first, whose times are reported, so that a
    machine that slows down or a cache that fills does not look like overhead."""
    if not profiled:
        return []
    before = count // 2
    return [*[None] * before, profiled[0], *[None] * (count - before), *profiled[1:]]


def measured(passes: Sequence[PassRecord]) -> OverheadRecord | None:
    """From the runs that went well: the first kind of profiled run against the unprofiled ones."""
    plain = [run for run in passes if run.purpose == UNPROFILED]
    kept = [run for run in passes if run.outcome in ("recorded", "partly") and run.purpose != UNPROFILED]
    if not plain or not kept or not kept[0].profiled:
        return None
    same = [run for run in kept if (run.profiler, run.purpose) == (kept[0].profiler, kept[0].purpose)]
    if kept[0].counters:
        same = same[:1]  # each pass counts something else, and costs something else
    without, with_ = _walls(plain), _walls(same)
    return OverheadRecord(without, with_) if without and with_ else None


def inflation(overhead: OverheadRecord) -> tuple[float, float, float]:
    """How many times longer it takes with the profiler: by the medians, at least, at most."""
    plain, profiled = overhead.unprofiled_ns, overhead.profiled_ns
    return (
        _median(profiled) / _median(plain),
        min(profiled) / max(plain),
        max(profiled) / min(plain),
    )


def describe(record: CollectionRecord) -> str:
    """One sentence: how far the recorded durations can be taken as those of the program."""
    if not record.profiled:
        return "No profiler ran: the wall time is the program's own."
    if record.overhead is None:
        return (
            f"The durations include the overhead of {record.profiler}, which was not measured "
            "(--measure-overhead does)."
        )
    middle, least, most = inflation(record.overhead)
    runs = len(record.overhead.unprofiled_ns)
    spread = f", {least:.2f} to {most:.2f} over the runs" if least < most else ""
    return (
        f"With {record.profiler} the program took {format_ns(_median(record.overhead.profiled_ns))}, without it "
        f"{format_ns(_median(record.overhead.unprofiled_ns))} ({format_count(runs, 'run')}): "
        f"{middle:.2f} times as long{spread}."
    )


def _walls(runs: Sequence[PassRecord]) -> tuple[int, ...]:
    return tuple(run.wall_ns for run in runs if run.wall_ns and run.exit_status == 0)


def _median(values: Sequence[int]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
