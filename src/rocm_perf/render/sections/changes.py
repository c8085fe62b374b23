"""How times and counts of two sides are written beside each other: what the sections of a comparison share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rocm_perf.model.results.comparison import Change, Comparison, Count
from rocm_perf.render.sections.section import time
from rocm_perf.units import format_ns, format_number, format_ratio

Row = TypeVar("Row")
WIDE = 110  # columns from which on intervals have room
_UNCHANGED = 0.0005  # of a ratio that is written with three digits


def difference_formula(comparison: Comparison) -> str:
    """How differences are made, in the words of the sides."""
    before, after = comparison.side_names
    return f"{after} minus {before}, in nanoseconds, of a {comparison.per}"


def change_arrow(change: Change) -> str:
    """A time on both sides; a dash where neither has any."""
    return arrow(change.base or 0, change.new or 0) if change.base or change.new else "-"


def arrow(base: float, new: float) -> str:
    """Two times; a dash for none."""
    return f"{time_or_none(base)} -> {time_or_none(new)}"


def time_or_none(value: float) -> str:
    """A time, or a dash for none."""
    return time(value or None)


def signed(value: float) -> str:
    """A difference of times, with its sign."""
    return f"{'+' if value > 0 else ''}{format_ns(value)}" if round(value) else "0"


def counted(count: Count) -> str:
    """A number on both sides, once where they agree."""
    base, new = format_number(count.base), format_number(count.new)
    return base if base == new else f"{base} -> {new}"


def ratio(change: Change, interval: tuple[float, float] | None) -> str:
    """How much more or less time is taken; an equals sign where it is the same, a dash where that is unknown."""
    if change.ratio is None:
        return "-"
    is_same = abs(change.ratio - 1) < _UNCHANGED and interval is None
    return "=" if is_same else format_ratio(change.ratio, interval)


def is_shown(change: Change) -> bool:
    """Whether the runs show a difference."""
    return change.verdict != "no difference shown"


def verdict(change: Change) -> str:
    """What the runs show of a time, in a word."""
    return {"better": "faster", "worse": "slower"}.get(change.verdict, "-")


def shown_first(rows: Sequence[Row], change: Callable[[Row], Change]) -> list[Row]:
    """Rows whose difference the runs show before those where it may be noise; otherwise the order stays."""
    return sorted(rows, key=lambda row: change(row).interval is not None and not is_shown(change(row)))


def renamed(one: str, other: str, *, is_same_name: bool) -> str:
    """A name, with a sign in front where it is not the same on both sides, and the new one where even short names
    differ."""
    if is_same_name:
        return one
    return f"~ {one}" if one == other else f"~ {one} -> {other}"
