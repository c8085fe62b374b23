"""Whether a value keeps its limits. A value is known as a range, and what is not known is not kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from rocm_perf.analysis.compare.gates.expressions import Limit, Of
from rocm_perf.model.results.check import Check, Outcome

Range = tuple[float, float]
_WORST_FIRST: tuple[Outcome, ...] = ("failed", "undecided", "passed")
_SHOWN = 8


class Value(msgspec.Struct, frozen=True):
    """What is known about one value: a range for each way to look at it, or why there is none."""

    name: str
    ranges: dict[Of, Range]
    text: str  # for people
    unknown: str | None = None  # why a range is missing


def check(expression: str, limits: Sequence[Limit], values: Iterable[Value], nothing: str) -> Check:
    """The worst outcome over all values; undecided, with the reason `nothing`, if there are none."""
    judged = [(outcome(limits, value), value) for value in values]
    if not judged:
        return Check(expression, "undecided", (nothing,))
    ordered = sorted(judged, key=lambda pair: _WORST_FIRST.index(pair[0]))
    details = [_detail(*pair) for pair in ordered]
    more = (f"and {len(details) - _SHOWN:,} more",) if len(details) > _SHOWN else ()
    return Check(expression, ordered[0][0], (*details[:_SHOWN], *more))


def outcome(limits: Sequence[Limit], value: Value) -> Outcome:
    """Failed if every limit is shown to be exceeded, passed if one of them is shown to be kept."""
    exceeded = [_exceeded(limit, value.ranges.get(limit.of)) for limit in limits]
    if False in exceeded:
        return "passed"
    return "failed" if all(exceeded) else "undecided"


def _exceeded(limit: Limit, bounds: Range | None) -> bool | None:
    """Whether all of the range is beyond the limit; None if only a part of it is, or nothing is known."""
    if bounds is None:
        return None
    low, high = bounds
    beyond = (
        (low > limit.bound, high > limit.bound) if limit.above else (low < limit.bound, high < limit.bound)
    )
    return beyond[0] if beyond[0] == beyond[1] else None


def _detail(result: Outcome, value: Value) -> str:
    if result != "undecided":
        return f"{value.name}: {value.text}"
    why = value.unknown or "the limit lies within the interval; more runs narrow it"
    return f"{value.name}: {value.text}; cannot tell: {why}"
