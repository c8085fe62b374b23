"""Threads that are numbered twice: on ROCm, calls of the runtime carry the number of the operating system, annotations
another. A thread of calls is the thread of annotations that was inside a function whenever a call was made, and inside
the shortest ones: a function that makes a call lasts little longer than it, one that waits meanwhile much longer."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import polars as pl

_MOST_THREADS = 64  # of either kind: each is held against each
_MOST_CALLS = 200  # of a thread, evenly chosen
_FEWEST_CALLS = 8  # a few may lie inside another thread's functions by chance

Spans = list[tuple[int, int]]


def same_threads(calls: pl.DataFrame, annotations: pl.DataFrame) -> dict[int, int]:
    """The thread of annotations that each thread of calls without any is; none where two threads would be one."""
    annotated = annotations.filter(pl.col("end_ns") > pl.col("start_ns"))
    callers = _spans(calls.join(annotations.select("tid").unique(), on="tid", how="anti"), _MOST_CALLS)
    candidates = _spans(annotated, None)
    if not callers or not candidates or max(len(callers), len(candidates)) > _MOST_THREADS:
        return {}
    often = {tid: spans for tid, spans in callers.items() if len(spans) >= _FEWEST_CALLS}
    chosen = {tid: _tightest(spans, candidates) for tid, spans in often.items()}
    times = Counter(chosen.values())
    return {tid: thread for tid, thread in chosen.items() if thread is not None and times[thread] == 1}


def _spans(events: pl.DataFrame, most: int | None) -> dict[int, Spans]:
    """Start and end of each thread's events, outer before inner."""
    ordered = events.drop_nulls("tid").sort(["start_ns", "end_ns"], descending=[False, True])
    groups = ordered.group_by("tid", maintain_order=True)
    return {
        int(tid): members.select("start_ns", "end_ns")
        .gather_every(1 if most is None else max(1, members.height // most))
        .rows()
        for (tid,), members in groups
    }


def _tightest(calls: Spans, candidates: dict[int, Spans]) -> int | None:
    around = {tid: _around(calls, spans) for tid, spans in candidates.items()}
    known = sorted((length, tid) for tid, length in around.items() if length is not None)
    return known[0][1] if known else None


def _around(calls: Spans, spans: Spans) -> float | None:
    """The mean length of the innermost spans that the calls lie in; None if one of them lies in none."""
    lengths: list[int] = []
    stack: Spans = []
    place = 0
    for start, end in calls:
        while place < len(spans) and spans[place][0] <= start:
            stack.append(spans[place])
            place += 1
        while stack and stack[-1][1] < end:
            stack.pop()
        if not stack:
            return None
        lengths.append(stack[-1][1] - stack[-1][0])
    return fmean(lengths)
