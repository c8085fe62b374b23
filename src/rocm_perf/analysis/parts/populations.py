"""The documents of the windows of one run as one: windows are samples of the run, and not a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from rocm_perf.analysis.parts.combine import OF_ONE_PART, combined
from rocm_perf.analysis.parts.sampled import windows
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.phases import Phase, Phases
from rocm_perf.model.results.windows import Windows, WindowSpread
from rocm_perf.model.time_window import TimeWindow
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_ns, format_share

_WORTH_TELLING = 0.05  # of the first level: a smaller change is real, perhaps, and nobody's concern


def of_windows(trace: Trace, parts: Sequence[tuple[TimeWindow, Document]]) -> Document:
    """One document of all windows: sums over them, and how far they differ."""
    samples = windows(trace)
    merged = combined(parts)
    fullest = max(parts, key=lambda part: part[1].hotspots.total_ns)[0]
    notices = (*_left_out(samples), f"of the window {fullest} alone: {OF_ONE_PART}", *trace.run.notices)
    return replace(
        merged,
        run=replace(trace.run, notices=notices),
        phases=_phases([document.phases for _, document in parts], merged.wall_ns or 0),
        windows=samples,
        findings=(*merged.findings, *change_findings(samples)),
    )


def change_findings(samples: Windows) -> tuple[Finding, ...]:
    """What changed along the run for good, by more than a few percent."""
    return tuple(_change(spread) for spread in samples.spreads if _is_worth_telling(spread))


def _left_out(samples: Windows) -> tuple[str, ...]:
    analysed = len(samples.rows)
    if analysed == samples.recorded:
        return ()
    return (f"{analysed} of {samples.recorded} windows are analysed: those with GPU work, evenly spread",)


def _phases(parts: Sequence[Phases], wall_ns: int) -> Phases:
    """The judged parts of all windows as one phase; steps, where every window has them."""
    steps = sum(part.steps for part in parts) if all(part.steps for part in parts) else 0
    first = parts[0]
    lengths = [part.step_ns.value for part in parts if part.step_ns.value is not None]
    step_ns = first.step_ns
    if steps and lengths:
        formula = "median over the windows of the median step"
        step_ns = Quantity(median(lengths), "ns", formula, {"windows": len(lengths)})
    return replace(
        first,
        rows=(Phase("steady" if steps else "work", 0, wall_ns),),
        steps=steps,
        step_ns=step_ns,
        carried_over=sum(part.carried_over for part in parts),
        pauses=(),
        found_by=f"in each of {len(parts)} windows by itself, {first.found_by}",
    )


def _is_worth_telling(spread: WindowSpread) -> bool:
    medians = [level.median for level in spread.levels]
    return len(medians) > 1 and max(medians) - min(medians) > _WORTH_TELLING * max(medians)


def _change(spread: WindowSpread) -> Finding:
    first, last = spread.levels[0], spread.levels[-1]
    name = spread.what.replace(" ", "-")
    return Finding(
        id=f"changes-{name}",
        severity="info",
        title=f"The {spread.what} changes along the run: {_value(spread, first.median)} at first, "
        f"{_value(spread, last.median)} in the end",
        evidence=tuple(
            f"windows {level.first_window} to {level.last_window}: median {_value(spread, level.median)}"
            for level in spread.levels
        ),
        remedy="Compare a window before the change with one behind it: rocm-perf analyze PATH --window A..B for each "
        "(--show windows has their times).",
    )


def _value(spread: WindowSpread, value: float) -> str:
    return format_ns(value) if spread.unit == "ns" else format_share(value)
