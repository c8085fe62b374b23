"""The windows in which a run was recorded. Nothing is known between two of them: each is analysed by itself, and the
time that separates them is neither idle nor busy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.time_window import Span, TimeWindow, within
from rocm_perf.model.trace import Trace

Spans = tuple[tuple[int, int], ...]
MOST_PARTS = 60  # that are analysed, evenly spread over the run: each takes a good part of a second
_DIGITS = 3  # of a window's length, to which its times are written


class RecordedPart(NamedTuple):
    """One window: its number, when it was open (from the first opening on), and what was recorded."""

    number: int
    window: TimeWindow
    trace: Trace

    @property
    def kernel_ns(self) -> int:
        """The sum of the durations of its kernels."""
        dispatches = self.trace.lazy("dispatches")
        return int(dispatches.select((pl.col("end_ns") - pl.col("start_ns")).sum()).collect().item() or 0)


@once_per_trace
def recorded_parts(trace: Trace) -> tuple[RecordedPart, ...]:
    """The windows that are analysed, in their order; none where all of the run was recorded. Work that runs after its
    window closed belongs to the window."""
    spans = recorded_spans(trace)
    bounds = [None, *(start for start, _ in spans[1:]), None]  # what each holds ends where the next one opens
    parts = [
        RecordedPart(number, _written(spans, number), _cut(trace, Span(*bounds[number - 1 : number + 1])))
        for number in range(1, len(spans) + 1)
    ]
    with_work = [part for part in parts if part.trace.has("dispatches") or part.trace.has("copies")]
    return tuple(_evenly(with_work, MOST_PARTS))


def fullest_part(trace: Trace) -> RecordedPart | None:
    """The window with most kernel time, where there are several."""
    parts = recorded_parts(trace)
    return max(parts, key=lambda part: part.kernel_ns) if len(parts) > 1 else None


@once_per_trace
def recorded_spans(trace: Trace) -> Spans:
    """When at least one process was recorded: starts and ends, in the order of time."""
    rows = trace.table("windows").drop_nulls(["start_ns", "end_ns"]).sort("start_ns")
    apart = (pl.col("start_ns") > pl.col("end_ns").cum_max().shift(1)).fill_null(True)
    spans = rows.group_by(apart.cum_sum().alias("number"), maintain_order=True)
    joined = spans.agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    return tuple(joined.select("start_ns", "end_ns").iter_rows())


def _written(spans: Spans, number: int) -> TimeWindow:
    """The window in round numbers that enclose it."""
    start, end = (time - spans[0][0] for time in spans[number - 1])
    unit = 10 ** max(0, len(str(end - start)) - _DIGITS)
    return TimeWindow(start // unit * unit, -(-end // unit) * unit)


def _cut(trace: Trace, span: Span) -> Trace:
    return Trace({name: within(name, trace.table(name), span) for name in trace}, trace.run)


def _evenly(parts: Sequence[RecordedPart], most: int) -> Sequence[RecordedPart]:
    """At most so many, from the first to the last, as evenly spread as can be."""
    if len(parts) <= most:
        return parts
    return [parts[round(place * (len(parts) - 1) / (most - 1))] for place in range(most)]
