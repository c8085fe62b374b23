"""The section on the phases of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import ratio
from rocm_perf.model.results.phases import Phase, PhaseName, Phases
from rocm_perf.render.sections.section import Columns, Section, explained, grids, share, span, text, time
from rocm_perf.units import format_count, format_ns

_ALIKE = 0.1  # mean and median steps that differ by less are one number
_NAMES = {
    "before": "before the first GPU work",
    "start-up": "start-up",
    "steady": "steady",
    "work": "work",
    "end": "end",
}


def phases_section(document: Document, top: int) -> Section:
    """When each phase begins and ends, and the pauses."""
    phases = document.phases
    if phases.unavailable:
        return Section("Phases", unavailable=phases.unavailable)
    wall = phases.wall_ns
    columns: Columns[Phase] = (
        text("phase", lambda row: phase_name(row, phases)),
        explained(
            "from",
            time,
            lambda row: row.start_ns,
            "start of the phase, from the first start of the recording",
        ),
        explained(
            "to", time, lambda row: row.end_ns, "end of the phase, from the first start of the recording"
        ),
        explained("length", time, lambda row: span(row.start_ns, row.end_ns)),
        explained(
            "share",
            share,
            lambda row: ratio(
                row.duration_ns, wall, "length of the phase / length of all", "length", "all phases"
            ),
        ),
    )
    return Section("Phases", lines=tuple(_lines(phases)), grids=grids("", phases.rows, columns, top))


def phase_line(phases: Phases, keys: Mapping[PhaseName, str] = MappingProxyType({})) -> str:
    """All phases in one line: "start-up 0.49 s | steady 482 ms: 200 steps of 2.41 ms | end 0.21 s"; each behind its
    key, where there are keys."""
    return " | ".join(f"{keys.get(row.name, '')} {_phase(row, phases)}".lstrip() for row in phases.rows)


def _phase(row: Phase, phases: Phases) -> str:
    length = f"{phase_name(row, phases)} {format_ns(row.duration_ns)}"
    if row.name != "steady" or not phases.steps:
        return length
    mean_ns = (row.duration_ns - phases.uncounted_ns) / phases.steps
    return f"{length}: {format_count(phases.steps, 'step')} of {_step(mean_ns, phases)}"


def _step(mean_ns: float, phases: Phases) -> str:
    """The mean step, which times their number is the phase; the median beside it where that is another time."""
    median_ns = phases.step_ns.value
    if median_ns is None or abs(median_ns - mean_ns) <= _ALIKE * mean_ns:
        return format_ns(mean_ns)
    return f"{format_ns(mean_ns)} (median {format_ns(median_ns)})"


def phase_name(row: Phase, phases: Phases) -> str:
    """What the phase is called; before the work there may be that of an earlier step, or what was not recorded."""
    if row.name == "before" and phases.carried_over:
        return "an earlier step"
    return "waiting for unrecorded work" if row.name == "before" and phases.waited else _NAMES[row.name]


def _lines(phases: Phases) -> list[str]:
    how = "Found by" if phases.steps else "Nothing repeats"
    lines = [f"{how}: {phases.found_by}."]
    if phases.carried_over:
        count = format_count(phases.carried_over, "kernel or copy", "kernels and copies")
        lines.append(f"{count} at the start were launched before the recording began, and count for nothing.")
    lines += [
        f"Pause of {format_ns(pause.duration_ns)} before {pause.after}, which does not recur."
        for pause in phases.pauses
    ]
    return lines
