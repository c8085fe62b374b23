"""Kinds of step on both sides, and how much of the difference of the wall is another mix of them."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.model.results.comparison import Comparison, StepChanges, StepKindChange
from rocm_perf.render.sections.changes import WIDE, change_arrow, counted, ratio, signed, verdict
from rocm_perf.render.sections.section import Column, Section, count, grids, number, text
from rocm_perf.units import format_share

_LEAST_SHARE = 0.01  # of the difference of the wall: less is not worth a sentence


def step_kinds_section(comparison: Comparison, width: int) -> Section | None:
    """Each kind of step with its time and that of a token; nothing where a side does not annotate its steps."""
    changes = comparison.kinds
    if changes is None:
        return None
    return Section(
        "Kinds of step",
        lines=tuple(_lines(comparison, changes)),
        grids=grids("", changes.rows, tuple(_columns(changes, width))),
    )


def _lines(comparison: Comparison, changes: StepChanges) -> Iterator[str]:
    alone = [row for row in changes.rows if not (row.steps.base and row.steps.new)]
    before, after = comparison.side_names
    for row in alone:
        yield f"{row.kind.capitalize()} steps are only {before if row.steps.base else after}."
    wall = changes.wall
    if wall is None or not abs(wall.mix_ns) > _LEAST_SHARE * abs(wall.difference_ns):
        return
    yield (
        f"Of the difference of the wall ({signed(wall.difference_ns)} of a {comparison.per}), "
        f"{signed(wall.mix_ns)} is {_mix(changes, comparison.per)}, {signed(wall.steps_ns)} steps of the same kind "
        f"that take another time, and {signed(wall.between_ns)} what lies between steps."
    )


def _mix(changes: StepChanges, per: str) -> str:
    """What changed about the mix: the shares of the kinds, or how many steps a run has."""
    if per == "run":
        return "another number of steps"
    kinds = [row for row in changes.rows if row.batch is None]
    base, new = (sum(of) for of in zip(*((row.steps.base, row.steps.new) for row in kinds), strict=True))
    shares = (
        f"{row.kind} {format_share(row.steps.base / base)} -> {format_share(row.steps.new / new)}"
        for row in kinds
    )
    return f"another mix of kinds ({', '.join(shares)} of the steps)"


def _columns(changes: StepChanges, width: int) -> Iterator[Column[StepKindChange]]:
    intervals = any(row.time.interval for row in changes.rows)
    wide = intervals and width >= WIDE
    yield text("step", lambda row: row.kind if row.batch is None else f"  batch {row.batch:,}")
    yield number("steps", lambda row: counted(row.steps))
    if any(row.base_requests != row.new_requests for row in changes.rows):
        yield number("requests", lambda row: f"{count(row.base_requests)} -> {count(row.new_requests)}")
    yield number("median", lambda row: change_arrow(row.time))
    yield number("change", lambda row: ratio(row.time, row.time.interval if wide else None))
    yield number("a token", lambda row: change_arrow(row.token))
    yield number("token change", lambda row: ratio(row.token, row.token.interval if wide else None))
    if intervals:
        yield text("shown", lambda row: verdict(row.time))
