"""A part of a recording, chosen by time: what starts in it belongs to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import polars as pl

from rocm_perf.model.tables import SCHEMAS
from rocm_perf.units import NS_PER_MS, NS_PER_S, NS_PER_US

_UNITS = {"": NS_PER_S, "s": NS_PER_S, "ms": NS_PER_MS, "us": NS_PER_US, "ns": 1, "min": 60 * NS_PER_S}
_TIME = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)")
_MOST_NS = 1 << 55  # more than a year, as of any span
MOMENTS = ("time_ns", "start_ns", "effect_ns")  # the columns by which a table is cut, the first that it has
# Processes start before what they do, and graphs are captured before they are replayed.
UNCUT = ("processes", "captured_graphs", "captured_launches", "captured_ops")

AnyFrame = TypeVar("AnyFrame", pl.DataFrame, pl.LazyFrame, pl.DataFrame | pl.LazyFrame)


class Span(NamedTuple):
    """From `start_ns` to before `end_ns`, on the clock of the recording; None where it is open."""

    start_ns: int | None
    end_ns: int | None


WHOLE = Span(None, None)


@dataclass(frozen=True)
class TimeWindow:
    """From `start_ns` to before `end_ns`, counted from the start of the recording; without an end, up to its last.

    One that `cuts` is looked at alone: what runs on behind its end counts up to it. Windows that are put together again
    keep each row whole, in the one in which it starts.
    """

    start_ns: int = 0
    end_ns: int | None = None
    cuts: bool = field(default=False, compare=False)

    def alone(self) -> TimeWindow:
        """The same window, cut at its end."""
        return replace(self, cuts=True)

    def at(self, origin_ns: int) -> Span:
        """The same on a clock on which the recording starts at `origin_ns`. One from 0 on has no start: whatever
        comes before the first known time belongs to it."""
        return Span(
            self.start_ns + origin_ns if self.start_ns else None,
            None if self.end_ns is None else self.end_ns + origin_ns,
        )

    def overlaps(self, other: TimeWindow) -> bool:
        """Whether something can start in both."""
        both = self.within(other)
        return both.end_ns is None or both.end_ns > both.start_ns

    def within(self, other: TimeWindow) -> TimeWindow:
        """What is in both."""
        ends = [end for end in (self.end_ns, other.end_ns) if end is not None]
        return TimeWindow(max(self.start_ns, other.start_ns), min(ends, default=None))

    def __str__(self) -> str:
        return f"{_seconds(self.start_ns)}..{'' if self.end_ns is None else _seconds(self.end_ns)}"


def parse_window(text: str) -> TimeWindow:
    """The window that `A..B` names, in seconds unless a unit says otherwise; raises ValueError if it names none."""
    first, dots, last = text.partition("..")
    if not dots or not (first.strip() or last.strip()):
        raise ValueError(f"{text!r} is not a window such as 10s..25s, steady or all")
    window = TimeWindow(parse_time(first) or 0, parse_time(last))
    if window.end_ns is not None and window.end_ns <= window.start_ns:
        raise ValueError(f"the window {text} ends before it starts")
    return window


def within(table: str, frame: AnyFrame, span: Span) -> AnyFrame:
    """The rows of a table that start in the span; every row of one without times."""
    moment = moment_of(table)
    return frame if moment is None else within_span(frame, pl.col(moment), span)


def ended(frame: AnyFrame, span: Span) -> AnyFrame:
    """The rows of a table, none of which lasts longer than the span."""
    if span.end_ns is None or "end_ns" not in frame.collect_schema():
        return frame
    return frame.with_columns(pl.col("end_ns").clip(upper_bound=span.end_ns))


def moment_of(table: str) -> str | None:
    """The column by which a table is cut; None for one that belongs to every window as a whole."""
    columns = () if table in UNCUT else SCHEMAS[table].dtypes
    return next((name for name in MOMENTS if name in columns), None)


def within_span(frame: AnyFrame, moment: pl.Expr, span: Span) -> AnyFrame:
    """The rows whose moment lies in the span. What has none belongs to the span without a start."""
    if span.end_ns is not None:
        early = moment < span.end_ns
        frame = frame.filter(early | moment.is_null() if span.start_ns is None else early)
    return frame if span.start_ns is None else frame.filter(moment >= span.start_ns)


def parse_time(text: str) -> int | None:
    """Nanoseconds of a time such as `10`, `10s`, `1.5ms` or `2min`; None for an empty one. Raises ValueError."""
    text = text.strip().lower()
    if not text:
        return None
    match = _TIME.fullmatch(text)
    factor = _UNITS.get(match.group(2)) if match else None
    if match is None or factor is None:
        raise ValueError(
            f"{text!r} is not a time: use seconds, or a unit of {', '.join(filter(None, _UNITS))}"
        )
    value = float(match.group(1)) * factor
    if value > _MOST_NS:
        raise ValueError(f"{text} is longer than any recording")
    return round(value)


def _seconds(value_ns: int) -> str:
    return f"{value_ns / NS_PER_S:.9f}".rstrip("0").rstrip(".") + "s"
