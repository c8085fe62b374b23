"""Two populations of runs compared: the answer, the parts that sum to it, then kernels, operators and findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rocm_perf.errors import UsageError
from rocm_perf.model.results.comparison import (
    Change,
    Comparison,
    FindingChange,
    KernelChange,
    Side,
)
from rocm_perf.model.results.wall_change import WallChange, WallPart
from rocm_perf.render.sections.changes import (
    WIDE,
    arrow,
    change_arrow,
    counted,
    difference_formula,
    is_shown,
    ratio,
    renamed,
    shown_first,
    signed,
    time_or_none,
    verdict,
)
from rocm_perf.render.sections.checks import checks_section
from rocm_perf.render.sections.model_changes import model_sections
from rocm_perf.render.sections.operator_changes import operators_section
from rocm_perf.render.sections.section import Column, Columns, Section, code, explained, grids, number, text
from rocm_perf.render.sections.step_changes import step_kinds_section
from rocm_perf.render.sections.verdicts import scorecard_changes_section
from rocm_perf.units import format_count, format_list, format_ns, format_ratio

SECTIONS = ("scorecard", "steps", "waterfall", "gpus", "models", "kernels", "operators", "findings")
MORE = "More: --show scorecard holds both sides to the targets of the inference tuning workflow."
_NAMES_LISTED = 3
_SMALL = (0.8, 1.25)  # ratios between them are said in percent
_BAR = 16
_MAY_BE_NOISE = (
    "a difference may be noise. Record each side several times, alternating, to see how much one program varies "
    "from run to run"
)
_IN_MIDDLE_RUN = "time of this part, in nanoseconds, in the run of this side whose wall is the median"
_OUTSIDE_IDLE = ("kernels", "copies", "before_first", "after_last")


def headline(comparison: Comparison) -> str:
    """How the wall changed, and whether the runs show it; first, how the machines differ that it was measured on."""
    wall = _wall_line(comparison)
    if comparison.setting is None:
        return wall
    return f"The sides ran on {comparison.setting}. What differs is not the effect of a change alone. {wall}"


def _wall_line(comparison: Comparison) -> str:
    wall = comparison.wall
    if wall.base is None or wall.new is None or wall.ratio is None or comparison.wall_unavailable:
        return f"Wall unavailable: {comparison.wall_unavailable or wall.no_interval}"
    times = f"Wall of a {comparison.per}: {arrow(wall.base, wall.new)}"
    if wall.interval is None:
        return f"{times}, {_pace(wall.ratio)}; {wall.no_interval}"
    if wall.verdict == "no difference shown":
        return f"{times}, no difference shown: {format_ratio(wall.ratio, wall.interval)}"
    return f"{times}, {_pace(wall.ratio)}{_pace_interval(wall)}"


def title(comparison: Comparison) -> str:
    """The two sides, with how many runs each has."""
    return f"{_named(comparison.base)} -> {_named(comparison.new)}"


def basis_lines(comparison: Comparison) -> Iterator[str]:
    """What was compared, and how far that carries."""
    launches = comparison.launches
    noun = "kernel" if launches.base == launches.new == 1 else "kernels"
    yield f"{counted(launches)} {noun} of a {comparison.per}. {_compared(comparison)}."
    if comparison.wall.interval is None and comparison.wall.ratio is not None:
        yield f"Without an interval, {_MAY_BE_NOISE}."
    yield from (f"note: {note}" for note in comparison.notes)


def require_sections(names: Sequence[str]) -> None:
    """Raise UsageError unless all of these are sections of a comparison."""
    unknown = [name for name in names if name not in (*SECTIONS, "all")]
    if unknown:
        raise UsageError(
            f"a comparison has no section {', '.join(map(repr, unknown))}",
            next_step=f"There are {', '.join(SECTIONS)}, and all of them: --show all.",
        )


def comparison_sections(
    comparison: Comparison, top: int, *, width: int, bars: bool = True, show: Sequence[str] = ()
) -> list[Section]:
    """Everything below the answer, or the sections that are named; those without anything to say are left out. Checks
    are never left out."""
    sections = (
        ("scorecard", scorecard_changes_section(comparison)),
        ("steps", step_kinds_section(comparison, width)),
        ("waterfall", _waterfall(comparison, bars=bars)),
        ("gpus", _gpus(comparison.gpus)),
        *(("models", section) for section in model_sections(comparison, top, width)),
        ("kernels", _kernels(comparison, top, width)),
        ("operators", operators_section(comparison, top, width)),
        ("findings", _findings(comparison)),
    )
    names = SECTIONS if "all" in show else show or SECTIONS[1:]
    chosen = [section for name, section in sections if name in names]
    return [section for section in (checks_section(comparison.checks), *chosen) if section]


def _compared(comparison: Comparison) -> str:
    if comparison.per == "run":
        return f"Whole runs are compared: {comparison.basis}"
    base, new = (_range([run.steps for run in side.runs]) for side in (comparison.base, comparison.new))
    noun = "steady step" if base == new == "1" else "steady steps"
    steps = f"{base} {noun} of each run" if base == new else f"{base} and {new} {noun} of a run"
    return f"Compared: {steps} ({comparison.basis})"


def _named(side: Side) -> str:
    return side.label if len(side.runs) == 1 else f"{side.label} ({len(side.runs)} runs)"


def pace(change: Change) -> tuple[str, str]:
    """How much faster or slower, and the interval of that; empty where there is none."""
    faster = "" if change.ratio is None else _pace(change.ratio)
    return faster, _pace_interval(change).strip(" ()") if change.interval else ""


def _pace(ratio: float) -> str:
    """How much less or more time is taken: in percent, or as a factor where it is large."""
    if _SMALL[0] < ratio < _SMALL[1]:
        return format_ratio(ratio)
    return f"{1 / ratio:.3g}x faster" if ratio < 1 else f"{ratio:.3g}x slower"


def _pace_interval(change: Change) -> str:
    low, high = change.interval or (1.0, 1.0)
    ratio = change.ratio or 1.0
    if _SMALL[0] < ratio < _SMALL[1]:
        return f" ({format_ratio(low)} to {format_ratio(high)} at 95 %)"
    bounds = (1 / high, 1 / low) if ratio < 1 else (low, high)
    return f" ({bounds[0]:.3g}x to {bounds[1]:.3g}x at 95 %)"


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _waterfall(comparison: Comparison, *, bars: bool) -> Section | None:
    wall = comparison.finest_waterfall
    if wall is None:
        return None
    total = WallPart("wall", "sum: the wall", wall.base_ns, wall.new_ns, wall.difference_ns)
    before, after = comparison.side_names
    columns: Columns[WallPart] = (
        explained("difference", signed, lambda part: part.difference_ns, difference_formula(comparison)),
        explained(before, time_or_none, lambda part: part.base_ns, _IN_MIDDLE_RUN),
        explained(after, time_or_none, lambda part: part.new_ns, _IN_MIDDLE_RUN),
        *((code("", _cascade(wall)),) if bars else ()),
        text("part", lambda part: part.title),
    )
    return Section(
        "Where the difference comes from",
        lines=(_whose_parts(comparison, wall),),
        grids=grids("", [*wall.parts, total], columns),
    )


def _whose_parts(comparison: Comparison, wall: WallChange) -> str:
    gpus = wall.base_gpu if wall.base_gpu == wall.new_gpu else f"{wall.base_gpu} and {wall.new_gpu}"
    several = max(len(side.runs) for side in (comparison.base, comparison.new)) > 1
    middle = ", in the middle run of each side" if several else ""
    return f"Every instant of a {comparison.per} belongs to one part, as {gpus} saw it{middle}."


def _cascade(wall: WallChange) -> Callable[[WallPart], str]:
    """A bar for each part, from where the parts before it have brought the wall to where it brings it."""
    edges = [wall.base_ns]
    for part in wall.parts:
        edges.append(edges[-1] + part.difference_ns)
    low, span = min(edges), max(edges) - min(edges)
    ends = {part.id: (edges[place], edges[place + 1]) for place, part in enumerate(wall.parts)}
    ends["wall"] = (wall.base_ns, wall.new_ns)

    def bar(part: WallPart) -> str:
        if not span or not part.difference_ns:
            return ""
        start, end = sorted(round(_BAR * (edge - low) / span) for edge in ends[part.id])
        start = min(start, _BAR - 1)
        return " " * start + ("█" if part.difference_ns > 0 else "░") * max(end - start, 1)

    return bar


def _gpus(gpus: Sequence[WallChange]) -> Section | None:
    if len(gpus) < 2:
        return None

    def difference(gpu: WallChange, *names: str) -> str:
        return signed(sum(part.difference_ns for part in gpu.parts if part.id in names))

    def idle(gpu: WallChange) -> str:
        return signed(sum(part.difference_ns for part in gpu.parts if part.id not in _OUTSIDE_IDLE))

    columns: Columns[WallChange] = (
        number("wall", lambda gpu: signed(gpu.difference_ns)),
        number("kernels", lambda gpu: difference(gpu, "kernels")),
        number("copies", lambda gpu: difference(gpu, "copies")),
        number("idle", idle),
        number("host", lambda gpu: difference(gpu, "before_first", "after_last")),
        text(
            "GPU",
            lambda gpu: gpu.base_gpu if gpu.base_gpu == gpu.new_gpu else f"{gpu.base_gpu} -> {gpu.new_gpu}",
        ),
    )
    return Section("By GPU", grids=grids("", gpus, columns))


def _kernels(comparison: Comparison, top: int, width: int) -> Section | None:
    if not comparison.kernels:
        return None
    both = [change for change in comparison.kernels if change.match not in ("appeared", "vanished")]
    changed = [change for change in both if change.total.difference or change.calls.base != change.calls.new]
    lines = [_kernel_sum(comparison)]
    if both and not changed:
        lines.append(f"No difference in {format_count(len(both), 'kernel')}.")
    lines += [
        f"{fate.capitalize()}: {_listed(changes, top)}"
        for fate in ("appeared", "vanished")
        if (changes := [change for change in comparison.kernels if change.match == fate])
    ]
    intervals = any(change.median.interval for change in changed)
    if intervals and not any(is_shown(change.median) for change in changed):
        lines.append("The runs show no kernel to be faster or slower: the changes below may be noise.")
    return Section(
        "Kernels",
        lines=tuple(lines),
        grids=grids(
            "",
            shown_first(changed, lambda change: change.total),
            tuple(_kernel_columns(comparison, intervals, width)),
            top,
        ),
    )


def _kernel_columns(comparison: Comparison, intervals: bool, width: int) -> Iterator[Column[KernelChange]]:
    yield explained(
        "difference", signed, lambda change: change.total.difference, difference_formula(comparison)
    )
    yield number("total", lambda change: change_arrow(change.total))
    yield number("calls", lambda change: counted(change.calls))
    if intervals and width >= WIDE:
        yield number("one call, at 95 %", lambda change: ratio(change.median, change.median.interval))
    else:
        yield number("one call", lambda change: ratio(change.median, None))
    if intervals:
        yield text("shown", lambda change: verdict(change.median))
    yield code("kernel", _name)


def _name(change: KernelChange) -> str:
    return renamed(change.kernel, change.new_kernel, is_same_name=change.match == "name")


def _kernel_sum(comparison: Comparison) -> str:
    base = sum(change.total.base or 0 for change in comparison.kernels)
    new = sum(change.total.new or 0 for change in comparison.kernels)
    return f"{arrow(base, new)} in a {comparison.per}, summed over all calls ({signed(new - base)})."


def _listed(changes: Sequence[KernelChange], top: int) -> str:
    names = [
        f"{change.kernel} ({format_ns(change.total.base or change.total.new or 0)})" for change in changes
    ]
    return format_list(names, min(top, _NAMES_LISTED))


def _findings(comparison: Comparison) -> Section | None:
    findings = comparison.findings
    if not findings:
        return None
    stayed = sum(finding.fate == "stayed" for finding in findings)
    lines = [f"{format_count(stayed, 'finding')} on both sides."]
    lines += [_finding(finding, comparison) for finding in findings if finding.fate != "stayed"]
    return Section("Findings", lines=tuple(lines))


def _finding(finding: FindingChange, comparison: Comparison) -> str:
    came = finding.fate == "came"
    stake = finding.new_at_stake_ns if came else finding.base_at_stake_ns
    having, side = (finding.new_runs, comparison.new) if came else (finding.base_runs, comparison.base)
    facts = [] if not stake else [f"{format_ns(stake)} of a {comparison.per} at stake"]
    if having < len(side.runs):
        facts.append(f"in {having} of {len(side.runs)} runs")
    return f"{'+ new' if came else '- gone'}: {finding.title}" + (f" ({'; '.join(facts)})" if facts else "")
