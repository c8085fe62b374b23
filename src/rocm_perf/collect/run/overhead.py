"""What profiling cost: wall times of the whole program without the profiler beside those with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rocm_perf.model.collection import OverheadRecord, PassRecord

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
    """The wall times of the runs that went well: the first kind of profiled run beside the unprofiled ones; None where
    one of the two is missing."""
    plain = [run for run in passes if run.purpose == UNPROFILED]
    kept = [run for run in passes if run.outcome in ("recorded", "partly") and run.purpose != UNPROFILED]
    if not plain or not kept or not kept[0].profiled:
        return None
    same = [run for run in kept if (run.profiler, run.purpose) == (kept[0].profiler, kept[0].purpose)]
    if kept[0].counters:
        same = same[:1]  # each pass counts something else, and costs something else
    without, with_ = _walls(plain), _walls(same)
    return OverheadRecord(unprofiled_ns=without, profiled_ns=with_) if without and with_ else None


def _walls(runs: Sequence[PassRecord]) -> tuple[int, ...]:
    return tuple(run.wall_ns for run in runs if run.wall_ns and run.exit_status == 0)
