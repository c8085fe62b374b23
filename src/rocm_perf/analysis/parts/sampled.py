"""The windows of a run that was recorded in samples of it: what was found in each, and how far they differ."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rocm_perf.analysis.basis.recorded import RecordedPart, Spans, recorded_parts, recorded_spans
from rocm_perf.analysis.phases.build import phases
from rocm_perf.analysis.phases.focus import focused
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.windows import RecordedWindow, WindowLevel, Windows, WindowSpread
from rocm_perf.model.trace import Trace
from rocm_perf.statistics.steps import levels

FORMULAS = {
    "windows.share": "time in windows / wall time of the program, or / time from the first opening to the last closing",
    "windows.rows.busy": "busy time of the GPUs / time between their first and their last work, in the window's "
    "steady state",
    "windows.spreads.levels": "windows between the places at which the ranks of the values change for good "
    "(at most 1 % false alarms)",
}

_WHOLE_RUN = "all of the run was recorded, not windows of it"


def windows(trace: Trace) -> Windows:
    """What was found in each window, and how far they differ."""
    spans = recorded_spans(trace)
    if not spans:
        return Windows(
            rows=(),
            recorded=0,
            share=unavailable("", FORMULAS["windows.share"], _WHOLE_RUN),
            spreads=(),
            unavailable=_WHOLE_RUN,
        )
    rows = tuple(_row(part, spans) for part in recorded_parts(trace))
    return Windows(rows=rows, recorded=len(spans), share=_share(trace, spans), spreads=tuple(_spreads(rows)))


def _row(part: RecordedPart, spans: Spans) -> RecordedWindow:
    (first, _), (start, end) = spans[0], spans[part.number - 1]
    judged, division = focused(part.trace), phases(part.trace)
    devices = device_times(judged)
    busy, lasted = sum(row.busy_ns for row in devices), sum(row.window_ns for row in devices)
    return RecordedWindow(
        window=part.number,
        start_ns=start - first,
        duration_ns=end - start,
        dispatches=part.trace.rows("dispatches"),
        kernel_ns=part.kernel_ns,
        busy=ratio(busy, lasted, "busy_ns / window_ns", "busy_ns", "window_ns"),
        steps=division.steps,
        step_ns=division.step_ns.value if division.steps else None,
    )


def _share(trace: Trace, spans: Spans) -> Quantity:
    recorded = sum(end - start for start, end in spans)
    return ratio(recorded, _run_ns(trace, spans), FORMULAS["windows.share"], "recorded_ns", "run_ns")


def _run_ns(trace: Trace, spans: Spans) -> int:
    """How long the program ran, or the time that its windows span where that is not known."""
    record = trace.run.collection
    walls = [run.wall_ns for run in record.passes if run.purpose == "trace" and run.wall_ns] if record else []
    return max([*walls, spans[-1][1] - spans[0][0]])


def _spreads(rows: Sequence[RecordedWindow]) -> list[WindowSpread]:
    busy = [(row.window, row.busy.value) for row in rows if row.busy.value is not None]
    steps = [(row.window, row.step_ns) for row in rows if row.step_ns is not None]
    measured = (("busy share", "", busy), ("time of a step", "ns", steps))
    return [_spread(what, unit, values) for what, unit, values in measured if len(values) > 1]


def _spread(what: str, unit: str, values: Sequence[tuple[int, float]]) -> WindowSpread:
    numbers = [value for _, value in values]
    return WindowSpread(
        what=what,
        unit=unit,
        windows=len(values),
        median=median(numbers),
        low=min(numbers),
        high=max(numbers),
        levels=tuple(
            WindowLevel(values[first][0], values[behind - 1][0], median(numbers[first:behind]))
            for first, behind in levels(numbers)
        ),
    )
