"""The phases of a recording as one bar, over the time since its first start."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.model.results.kernels import Steps
from rocm_perf.model.results.phases import Phase, Phases
from rocm_perf.render import svg
from rocm_perf.render.figures.axes import time_axis
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.parts import Part, legend, stacked_bar
from rocm_perf.render.figures.scales import Linear
from rocm_perf.render.sections.phases import phase_line, phase_name
from rocm_perf.units import format_count, format_ns, format_share

LOOKS = {"before": "idle", "start-up": "fill-2", "steady": "fill-1", "work": "fill-1", "end": "fill-8"}
_BAR = 34
_STEP_ROOM = 4  # units between two steps, at least: closer ones would run together


def phases_figure(phases: Phases, steps: Steps | None = None, width: float = WIDE) -> Drawn:
    """What came before the work, start-up, the steady state with its steps, and the end."""
    rows = [row for row in phases.rows if row.duration_ns > 0]
    if phases.unavailable or not rows:
        return Missing(phases.unavailable or "the recording has no length")
    first, last = rows[0].start_ns, rows[-1].end_ns
    at = Linear(first, last, 0, width)
    parts = [_part(row, phases) for row in rows]
    key = legend([*parts, *_pause_key(phases)], left=0, top=_BAR + 26, width=width)
    body = (
        *stacked_bar(parts, svg.Box(0, 0, width, _BAR)),
        *_step_marks(phases, steps, at),
        *_pauses(phases, at),
        *time_axis(at, _BAR),
        *key.body,
    )
    return Figure(
        title=f"Phases: {phase_line(phases)}", width=width, height=_BAR + 26 + key.height, body=body
    )


def _part(row: Phase, phases: Phases) -> Part:
    said = f"{format_ns(row.duration_ns)} ({format_share(row.duration_ns / phases.wall_ns)})"
    if row.name == "steady" and phases.steps:
        said += f": {format_count(phases.steps, 'step')} of {format_ns(row.duration_ns / phases.steps)}"
    return Part(
        name=phase_name(row, phases),
        value=row.duration_ns,
        look=LOOKS[row.name],
        said=said,
        about=f"from {format_ns(row.start_ns)} to {format_ns(row.end_ns)}",
    )


def _step_marks(phases: Phases, steps: Steps | None, at: Linear) -> Iterator[str]:
    """A line where each step of the steady state begins, if all are known and can be told apart."""
    steady = phases.phase("steady")
    if steady is None or steps is None or not phases.steps:
        return
    begins = [step.start_ns - phases.origin_ns for step in steps.steps]
    inside = [begin for begin in begins if steady.start_ns < begin < steady.end_ns]
    room = (at(steady.end_ns) - at(steady.start_ns)) / phases.steps
    if room >= _STEP_ROOM and len(inside) >= phases.steps - 1:
        yield from (svg.line((at(begin), _BAR * 0.7), (at(begin), _BAR), "cut") for begin in inside)


def _pauses(phases: Phases, at: Linear) -> Iterator[str]:
    for pause in phases.pauses:
        left, right = at(pause.start_ns), at(pause.end_ns)
        box = svg.Box(left, _BAR * 0.3, max(right - left, 1.0), _BAR * 0.4)
        about = f"Pause of {format_ns(pause.duration_ns)}\nbefore {pause.after}, does not recur"
        yield svg.mark(about, svg.rect(box, "idle"))


def _pause_key(phases: Phases) -> Iterator[Part]:
    if phases.pauses:
        total = sum(pause.duration_ns for pause in phases.pauses)
        name = "pause that does not recur" if len(phases.pauses) == 1 else "pauses that do not recur"
        yield Part(name=name, value=total, look="idle", said=format_ns(total))
