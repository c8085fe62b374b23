"""What the runs of two sides ran on and with: where that differs, their times do not show what a change did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import polars as pl

from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches
from rocm_perf.model.results.comparison import ComparedRun, Side
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_list

_MOST_NAMED = 3
_Values = tuple[str, ...]


def of_gpus(trace: Trace, fact: Literal["name", "gfx"]) -> tuple[str, ...]:
    """What the GPUs are called that did work, or of what architecture they are; none where that is not known."""
    place = ("node", "agent_id")
    working = pl.concat([timed_dispatches(trace).select(place), timed_copies(trace).select(place)]).unique()
    gpus = trace.table("agents").filter(pl.col("kind") == "GPU").join(working, on=place, how="semi")
    return tuple(gpus[fact].drop_nulls().unique().sort())


def setting_change(base: Side, new: Side) -> str | None:
    """How the hardware of the sides, their ranks or their runtimes differ, as far as both sides record them."""
    changes = list(_changes(base, new))
    return "; ".join(changes) if changes else None


def _changes(base: Side, new: Side) -> Iterator[str]:
    facts: tuple[tuple[str, Callable[[ComparedRun], _Values]], ...] = (
        ("different GPUs", _gpus(base, new)),
        ("different numbers of ranks", _ranks),
        ("different runtimes", lambda run: run.software),
    )
    for what, read in facts:
        before, after = _values(base, read), _values(new, read)
        if before and after and before != after:
            yield f"{what}: {format_list(list(before), _MOST_NAMED)} -> {format_list(list(after), _MOST_NAMED)}"


def _gpus(base: Side, new: Side) -> Callable[[ComparedRun], _Values]:
    """By their names; by their architectures where a side does not record names."""
    named = all(run.devices for side in (base, new) for run in side.runs)
    return (lambda run: run.devices) if named else (lambda run: run.chips)


def _ranks(run: ComparedRun) -> _Values:
    return (str(run.world_size),) if run.world_size else ()


def _values(side: Side, read: Callable[[ComparedRun], _Values]) -> _Values:
    """What any run of the side has, in a fixed order."""
    return tuple(sorted({value for run in side.runs for value in read(run)}))
