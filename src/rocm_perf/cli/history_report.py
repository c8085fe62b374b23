"""Runs and phases of the history in lines, tables, pictures and plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocm_perf.bench.history.phases import MEASURES, Measure
from rocm_perf.cli.bench_report import milliseconds
from rocm_perf.render.grid import GridColumn, fitted
from rocm_perf.render.trend import plot, sparkline
from rocm_perf.render.trend_picture import Dot, Trend
from rocm_perf.statistics.series import median
from rocm_perf.units import format_count, format_share

if TYPE_CHECKING:
    from rich.table import Table

    from rocm_perf.bench.history.records import Conditions, Phase, SavedRun
    from rocm_perf.bench.history.series import Series, StepChange
    from rocm_perf.statistics import Difference

_FEWEST_PLOTTED = 3
_COMMIT = 10  # characters


def overview_lines(series: Sequence[Series], path: Path) -> list[str]:
    """One line for each series: what, the last time, the trend, and its last step."""
    if not series:
        return [f"{path} holds no runs: `rocm-perf bench --save TARGET` keeps one."]
    return [
        f"{one.conditions.target}: {milliseconds(one.medians_ms[-1])}  {sparkline(one.medians_ms)}  "
        f"{format_count(len(one.runs), 'run')}{_last_step(one)}  [{place_of(one.conditions)}]"
        for one in series
    ]


def series_lines(series: Series) -> Iterator[str]:
    """Every run of a series, its trend, and its steps."""
    yield f"{series.conditions.target} on {place_of(series.conditions)}"
    yield from map(_run_line, series.runs)
    if len(series.runs) >= _FEWEST_PLOTTED:
        medians = series.medians_ms
        labels = milliseconds(max(medians)), milliseconds(min(medians))
        yield from plot(medians, labels, steps={step.place for step in series.steps})
    yield from map(_step_line, series.steps)


def place_of(conditions: Conditions) -> str:
    """Where and how it was measured, without what is as usual."""
    unusual = [name if value == "True" else f"{name} {value}" for name, value in _unusual(conditions)]
    return ", ".join(filter(None, (conditions.gpu, conditions.machine, conditions.clock, *unusual)))


def change(ratio: float) -> str:
    """A ratio of times as a signed share."""
    return f"{'+' if ratio >= 1 else '-'}{format_share(abs(ratio - 1))}"


def bounds(difference: Difference) -> str:
    """The interval of a ratio as signed shares."""
    if difference.interval is None:
        return "no interval"
    return f"95 %: {change(difference.interval.low)} to {change(difference.interval.high)}"


def series_data(series: Series) -> dict[str, Any]:
    """A series as plain data, with the samples of each process reduced to its median."""
    return {
        "conditions": {**vars(series.conditions), "settings": dict(series.conditions.settings)},
        "runs": [_run_data(run) for run in series.runs],
        "steps": [
            {
                "place": step.place,
                "date": step.after.result.date,
                "commit_before": step.before.result.commit,
                "commit_after": step.after.result.commit,
                "ratio": step.difference.ratio,
                "interval": step.difference.interval
                and [step.difference.interval.low, step.difference.interval.high],
                "verdict": step.difference.verdict,
            }
            for step in series.steps
        ],
    }


def trend_of(series: Series) -> Trend:
    """A series as a diagram."""
    return Trend(
        title=f"{series.conditions.target} on {place_of(series.conditions)}",
        unit="ms",
        dots=[_dot(run) for run in series.runs],
        steps=[(step.place, change(step.difference.ratio)) for step in series.steps],
    )


def phase_table(phases: Sequence[Phase], width: int) -> Table:
    """One row for each phase, and below each number its trend, the last over the first, and whether that is better."""
    measures = [one for one in MEASURES if any(phase.numbers.get(one.key) is not None for phase in phases)]
    names = GridColumn(
        "phase", [*(phase.name for phase in phases), "trend", "last / first", ""], numeric=False
    )
    return fitted([names, *(_measure_column(measure, phases) for measure in measures)], width)


def _measure_column(measure: Measure, phases: Sequence[Phase]) -> GridColumn:
    values = [phase.numbers.get(measure.key) for phase in phases]
    cells = ["-" if value is None else measure.format(value) for value in values]
    return GridColumn(
        measure.title, [*cells, sparkline(values, width=12), *_overall(measure, values)], numeric=True
    )


def _overall(measure: Measure, values: Sequence[float | None]) -> tuple[str, str]:
    """The last known value over the first, and what that means."""
    known = [value for value in values if value is not None]
    if len(known) < 2 or not known[0]:
        return "-", ""
    ratio = known[-1] / known[0]
    shown = f"{ratio:.2f}x"
    if measure.better is None or shown == "1.00x":
        return shown, ""
    return shown, "better" if (ratio < 1) == (measure.better == "lower") else "worse"


def _unusual(conditions: Conditions) -> Iterator[tuple[str, str]]:
    from rocm_perf.bench.settings import Settings

    usual = {name: str(value) for name, value in vars(Settings()).items()}
    return ((name, value) for name, value in conditions.settings if usual.get(name, "None") != value)


def _run_line(run: SavedRun) -> str:
    result = run.result
    interval = result.interval
    spread = f" ({milliseconds(interval.low)} to {milliseconds(interval.high)})" if interval else ""
    clocks = [clock for one in result.processes for clock in one.clocks_mhz]
    parts = [
        f"{milliseconds(result.median_ms)}{spread}",
        format_count(len(result.times_ms), "process", "processes"),
        *([f"{median(clocks):,.0f} MHz"] if clocks else ()),
        *(["self-test"] if run.self_tests else ()),
    ]
    return f"  {result.date[:19]}  {result.commit[:_COMMIT] or '-':<{_COMMIT}}  {', '.join(parts)}"


def _run_data(run: SavedRun) -> dict[str, Any]:
    result = run.result
    interval = result.interval
    return {
        "date": result.date,
        "commit": result.commit,
        "machine": result.machine,
        "median_ms": result.median_ms,
        "interval_ms": interval and [interval.low, interval.high],
        "process_medians_ms": [median(times) for times in result.times_ms],
        "clock_mhz": [median(one.clocks_mhz) if one.clocks_mhz else None for one in result.processes],
        "self_tests": run.self_tests,
    }


def _step_line(step: StepChange) -> str:
    before, after = (run.result.commit[:_COMMIT] or "-" for run in (step.before, step.after))
    return (
        f"step: {change(step.difference.ratio)} ({bounds(step.difference)}) "
        f"at {step.after.result.date[:19]}, commit {before} -> {after}"
    )


def _last_step(series: Series) -> str:
    if not series.steps:
        return ""
    step = series.steps[-1]
    return f", step {change(step.difference.ratio)} at {step.after.result.date[:10]}"


def _dot(run: SavedRun) -> Dot:
    result = run.result
    interval = result.interval
    label = f"{result.date[:19]} {result.commit[:_COMMIT]} {milliseconds(result.median_ms)}"
    return Dot(result.median_ms, (interval.low, interval.high) if interval else None, label)
