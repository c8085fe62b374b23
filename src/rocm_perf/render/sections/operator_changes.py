"""Framework operators of two sides beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_perf.model.results.comparison import Change, Comparison, OperatorChange
from rocm_perf.render.sections.changes import (
    WIDE,
    arrow,
    change_arrow,
    counted,
    difference_formula,
    ratio,
    renamed,
    shown_first,
    signed,
    verdict,
)
from rocm_perf.render.sections.section import Column, Section, code, explained, grids, number, text
from rocm_perf.units import format_count, format_list, format_ns

_NAMES_LISTED = 3
_GPU = "sum of the durations of the kernels, copies and fills that calls of the operator launched themselves"
_HOST = "durations of its calls, without those of the operators directly inside them"


def operators_section(comparison: Comparison, top: int, width: int) -> Section:
    """The operators that changed most, or why they cannot be compared."""
    if comparison.operators_unavailable:
        return Section("Operators", unavailable=comparison.operators_unavailable)
    changes = comparison.operators
    both = [change for change in changes if change.match not in ("appeared", "vanished")]
    changed = [change for change in both if _differs(change)]
    lines = [_sums(comparison)]
    if both and not changed:
        lines.append(f"No difference in {format_count(len(both), 'operator')}.")
    names = dict(zip(("vanished", "appeared"), comparison.side_names, strict=True))
    lines += [
        f"Only {name}: {_listed(alone, top)}."
        for fate, name in names.items()
        if (alone := [change for change in changes if change.match == fate])
    ]
    columns = tuple(_columns(comparison, any(change.gpu.interval for change in changed), width))
    return Section(
        "Operators",
        lines=tuple(lines),
        grids=grids("", shown_first(changed, lambda change: change.gpu), columns, top),
    )


def _differs(change: OperatorChange) -> bool:
    return bool(change.gpu.difference or change.host.difference or change.calls.base != change.calls.new)


def _sums(comparison: Comparison) -> str:
    """What all operators own together: their times add up."""
    gpu = _sum([change.gpu for change in comparison.operators])
    host = _sum([change.host for change in comparison.operators])
    return f"Of a {comparison.per}, operators own {gpu} on the GPU and {host} on the host."


def _sum(changes: Sequence[Change]) -> str:
    base, new = sum(change.base or 0 for change in changes), sum(change.new or 0 for change in changes)
    return f"{arrow(base, new)} ({signed(new - base)})"


def _columns(comparison: Comparison, intervals: bool, width: int) -> Iterator[Column[OperatorChange]]:
    formula = difference_formula(comparison)
    yield explained("difference", signed, lambda change: change.gpu.difference, f"{formula}: {_GPU}")
    yield number("GPU time", lambda change: change_arrow(change.gpu))
    if intervals and width >= WIDE:
        yield number("at 95 %", lambda change: ratio(change.gpu, change.gpu.interval))
    else:
        yield number("change", lambda change: ratio(change.gpu, None))
    if intervals:
        yield text("shown", lambda change: verdict(change.gpu))
    yield explained("host diff.", signed, lambda change: change.host.difference, f"{formula}: {_HOST}")
    if width >= WIDE:
        yield number("host time", lambda change: change_arrow(change.host))
    yield number("calls", lambda change: counted(change.calls))
    yield code("operator", _name)


def _name(change: OperatorChange) -> str:
    return renamed(change.operator, change.new_operator, is_same_name=change.match == "name")


def _listed(changes: Sequence[OperatorChange], top: int) -> str:
    return format_list([_alone(change) for change in changes], min(top, _NAMES_LISTED))


def _alone(change: OperatorChange) -> str:
    """An operator of one side, with the time that it took there."""
    gpu, host = (time.base or time.new or 0 for time in (change.gpu, change.host))
    spent = f"{format_ns(gpu)} on the GPU" if gpu else f"{format_ns(host)} on the host"
    return f"{change.operator} ({spent})"
