"""The section on the phases of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import ratio
from rocm_perf.model.results.phases import Phase, PhaseName, Phases, StepSpread
from rocm_perf.render.sections.section import Columns, Section, explained, grids, share, span, text, time
from rocm_perf.units import format_count, format_ns

_ALIKE = 0.1  # of the median: steps that differ by less are told by it alone
_MOST = 0.5  # of the recording
_SAME = 0.02  # of the work
_NAMES = {
    "before": "before the first GPU work",
    "start-up": "start-up",
    "steady": "steady",
    "work": "work",
    "end": "end",
}
_BEFORE = {
    "work": "before the first GPU work",
    "launch": "before the first launch",
    "step": "before the first step",
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


def phase_line(
    phases: Phases, keys: Mapping[PhaseName, str] = MappingProxyType({}), *, work_ns: int | None = None
) -> str:
    """All phases in one line: "start-up 0.49 s | steady 482 ms: 200 steps of 2.41 ms | end 0.21 s"; each behind its
    key, where there are keys. `work_ns` is what the judged time is said to be beside it: where the work differs by
    little from that (a short start was judged with it, or the host ends later), one time is written in one way."""
    return " | ".join(
        f"{keys.get(row.name, '')} {_phase(row, phases, work_ns)}".lstrip() for row in phases.rows
    )


def _phase(row: Phase, phases: Phases, work_ns: int | None) -> str:
    lasts_ns = row.duration_ns
    if row.name == "work" and work_ns is not None and abs(work_ns - lasts_ns) <= _SAME * lasts_ns:
        lasts_ns = work_ns
    length = f"{phase_name(row, phases)} {format_ns(lasts_ns)}"
    return f"{length}: {steps_text(phases)}" if row.name == "steady" and phases.steps else length


def steps_text(phases: Phases) -> str:
    """Return how many steps there are and how long one is: "200 steps of 2.41 ms", which is the median, with the spread
    where steps differ by more than a tenth from it."""
    median_ns, spread = phases.step_ns.value, phases.step_spread
    if phases.kernel:
        count = format_count(phases.steps, "launch of one kernel", "launches of one kernel")
        return count if median_ns is None else f"{count}, one every {format_ns(median_ns)}"
    count = format_count(phases.steps, "step")
    if median_ns is None:
        return count
    told = f"{count} of {format_ns(median_ns)}"
    if spread is None or _is_narrow(spread, median_ns):
        return told
    return f"{told} (median; {_reach(spread)})"


def _is_narrow(spread: StepSpread, median_ns: float) -> bool:
    return max(median_ns - spread.low_ns, spread.high_ns - median_ns) <= _ALIKE * median_ns


def _reach(spread: StepSpread) -> str:
    ends = f"{format_ns(spread.low_ns)} to {format_ns(spread.high_ns)}"
    return ends if spread.whole else f"8 of 10 {ends}"


def phase_name(row: Phase, phases: Phases) -> str:
    """What the phase is called; before the work there may be that of an earlier step, or what was not recorded."""
    if row.name != "before":
        return _NAMES[row.name]
    if phases.carried_over:
        return "an earlier step"
    if phases.waited:
        return "waiting for unrecorded work"
    return _NAMES["before"] if phases.phase("start-up") else _BEFORE[phases.begins]


def _lines(phases: Phases) -> list[str]:
    how = "Found by" if phases.steps else "Nothing repeats"
    lines = [f"{how}: {phases.found_by}."]
    lines += _step_lines(phases)
    if phases.wall_ns and phases.first_uses_ns > _MOST * phases.wall_ns:
        lines.append(
            f"{format_ns(phases.first_uses_ns)} of {format_ns(phases.wall_ns)} are first uses: initialisation, loading "
            "of code, first copies. Record longer to see steady work."
        )
    if phases.carried_over:
        count = format_count(phases.carried_over, "kernel or copy", "kernels and copies")
        was = "was" if phases.carried_over == 1 else "were"
        lines.append(
            f"{count} at the start {was} launched before the recording began, and count for nothing."
        )
    lines += [
        f"Pause of {format_ns(pause.duration_ns)} before {pause.after}, which does not recur."
        for pause in phases.pauses
    ]
    return lines


def _step_lines(phases: Phases) -> list[str]:
    """The median step and its spread, and the steps that count for neither."""
    median_ns, spread = phases.step_ns.value, phases.step_spread
    if not phases.steps or median_ns is None or spread is None:
        return []
    one = "launch" if phases.kernel else "step"
    reach = "the shortest and the longest" if spread.whole else "the 10th and 90th percentile"
    lines = [
        f"The median {one} takes {format_ns(median_ns)}; {reach} {format_ns(spread.low_ns)} and "
        f"{format_ns(spread.high_ns)}."
    ]
    if phases.odd_steps:
        odd = format_count(phases.odd_steps, f"{one} is", f"{one}s are" if one == "step" else "launches are")
        lines.append(f"{odd} unlike the others (a hiccup, or other work), and not in the median.")
    return lines
