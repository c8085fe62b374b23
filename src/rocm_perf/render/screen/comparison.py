"""Two recordings compared, in a terminal: the answer, the parts that sum to it, then kernels and findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.table import Table

from rocm_perf.model.results.comparison import (
    Comparison,
    FindingChange,
    KernelChange,
    Side,
    StepChange,
    WallChange,
)
from rocm_perf.render.grid import GridColumn, fitted
from rocm_perf.render.lines import marked_up
from rocm_perf.units import format_count, format_ns, format_share

_FATES = {"came": "[red]+[/] new:", "went": "[green]-[/] gone:"}
_NAMES_LISTED = 3


def print_comparison(comparison: Comparison, console: Console, top: int) -> None:
    """Print the whole comparison, with at most `top` kernels in each list."""
    for block in _blocks(comparison, top, console.width):
        console.print(block, overflow="ellipsis" if isinstance(block, Table) else "fold")


def _blocks(comparison: Comparison, top: int, width: int) -> Iterator[RenderableType]:
    yield f"[bold]{marked_up(comparison.base.label)}[/] -> [bold]{marked_up(comparison.new.label)}[/]"
    yield _headline(comparison)
    if comparison.steps:
        yield _steps(comparison.steps)
    yield f"[dim]No confidence interval: {comparison.interval.unavailable}.[/]"
    if comparison.wall:
        yield ""
        yield f"[bold]Where the difference comes from[/]  {_compared_gpus(comparison)}"
        yield _waterfall(comparison.wall, width)
    if len(comparison.gpus) > 1:
        yield ""
        yield _gpu_table(comparison.gpus, width)
    yield from _kernel_blocks(comparison, top, width)
    yield from _finding_lines(comparison.findings)
    yield from _note_lines(comparison)


def _headline(comparison: Comparison) -> str:
    base, new, speedup = comparison.base, comparison.new, comparison.speedup.value
    if base.wall_ns is None or new.wall_ns is None or speedup is None:
        return f"Wall: unavailable, {comparison.speedup.unavailable}"
    change = _signed(new.wall_ns - base.wall_ns)
    return f"Wall {_arrow(base.wall_ns, new.wall_ns)}: [bold]{_pace(speedup)}[/] ({change})"


def _pace(speedup: float) -> str:
    if f"{speedup:.3f}" == "1.000":
        return "no difference"
    return f"{speedup:.3g}x faster" if speedup > 1 else f"{1 / speedup:.3g}x slower"


def _steps(steps: StepChange) -> str:
    methods = "; ".join(dict.fromkeys((steps.base_found, steps.new_found)))
    counts = f"{steps.base_steps:,} and {steps.new_steps:,} steps ({methods})"
    return (
        f"Wall per step {_arrow(steps.base_ns, steps.new_ns)}: [bold]{_pace(steps.base_ns / steps.new_ns)}[/], "
        f"{steps.base_kernels:g} -> {steps.new_kernels:g} kernels; {marked_up(counts)}"
    )


def _compared_gpus(comparison: Comparison) -> str:
    wall = comparison.wall
    if wall is None or len(comparison.gpus) <= 1:
        return "parts sum to the wall"
    return (
        f"parts of {wall.base_gpu}"
        if wall.base_gpu == wall.new_gpu
        else f"{wall.base_gpu} and {wall.new_gpu}"
    )


def _waterfall(wall: WallChange, width: int) -> Table:
    rows = [(part.difference_ns, part.base_ns, part.new_ns, part.title) for part in wall.parts]
    rows.append((wall.difference_ns, wall.base_ns, wall.new_ns, "sum: the wall"))
    differences, base, new, titles = zip(*rows, strict=True)
    return fitted(
        [
            GridColumn("difference", [_signed(value) for value in differences], numeric=True),
            GridColumn("base", [_time(value) for value in base], numeric=True),
            GridColumn("new", [_time(value) for value in new], numeric=True),
            GridColumn("part", titles, numeric=False),
        ],
        width,
    )


def _gpu_table(gpus: Sequence[WallChange], width: int) -> Table:
    def part(gpu: WallChange, *names: str) -> str:
        return _signed(sum(part.difference_ns for part in gpu.parts if part.id in names))

    def idle(gpu: WallChange) -> str:
        busy = ("kernels", "copies", "before_first", "after_last")
        return _signed(sum(part.difference_ns for part in gpu.parts if part.id not in busy))

    return fitted(
        [
            GridColumn("wall", [_signed(gpu.difference_ns) for gpu in gpus], numeric=True),
            GridColumn("kernels", [part(gpu, "kernels") for gpu in gpus], numeric=True),
            GridColumn("copies", [part(gpu, "copies") for gpu in gpus], numeric=True),
            GridColumn("idle", [idle(gpu) for gpu in gpus], numeric=True),
            GridColumn("host", [part(gpu, "before_first", "after_last") for gpu in gpus], numeric=True),
            GridColumn("by GPU", [_gpu_name(gpu) for gpu in gpus], numeric=False),
        ],
        width,
    )


def _gpu_name(gpu: WallChange) -> str:
    return gpu.base_gpu if gpu.base_gpu == gpu.new_gpu else f"{gpu.base_gpu} -> {gpu.new_gpu}"


def _kernel_blocks(comparison: Comparison, top: int, width: int) -> Iterator[RenderableType]:
    both = [change for change in comparison.kernels if change.match in ("name", "short name")]
    changed = [change for change in both if change.difference_ns or change.base_calls != change.new_calls]
    if not comparison.kernels:
        return
    yield ""
    yield f"[bold]Kernels[/]  {_kernel_sum(comparison.base, comparison.new)}"
    if changed:
        yield _kernel_table(changed[:top], width)
        if len(changed) > top:
            yield f"[dim]{format_count(len(changed) - top, 'more kernel')} changed (--top N shows more)[/]"
    elif both:
        yield f"No difference in {format_count(len(both), 'kernel')}."
    for fate in ("appeared", "vanished"):
        if changes := [change for change in comparison.kernels if change.match == fate]:
            yield f"{fate.capitalize()}: {marked_up(_listed(changes, top))}"


def _kernel_sum(base: Side, new: Side) -> str:
    return (
        f"{base.dispatches:,} -> {format_count(new.dispatches, 'dispatch', 'dispatches')}, "
        f"{format_ns(base.kernel_ns)} -> {format_ns(new.kernel_ns)} summed ({_signed(new.kernel_ns - base.kernel_ns)})"
    )


def _kernel_table(changes: Sequence[KernelChange], width: int) -> Table:
    return fitted(
        [
            GridColumn("difference", [_signed(change.difference_ns) for change in changes], numeric=True),
            GridColumn("total", [_arrow(change.base_ns, change.new_ns) for change in changes], numeric=True),
            GridColumn("calls", [_calls(change) for change in changes], numeric=True),
            GridColumn(
                "mean", [_ratio(change.base_mean_ns, change.new_mean_ns) for change in changes], numeric=True
            ),
            GridColumn("kernel", [change.kernel for change in changes], numeric=False),
        ],
        width,
    )


def _arrow(base: float, new: float) -> str:
    return f"{_time(base)} -> {_time(new)}"


def _calls(change: KernelChange) -> str:
    if change.base_calls == change.new_calls:
        return f"{change.new_calls:,}"
    return f"{change.base_calls:,} -> {change.new_calls:,}"


def _ratio(base: float | None, new: float | None) -> str:
    """The change of the mean, in percent."""
    if not base or new is None:
        return "-"
    change = new / base - 1
    return "=" if abs(change) < 0.0005 else f"{'+' if change > 0 else '-'}{format_share(abs(change))}"


def _listed(changes: Sequence[KernelChange], top: int) -> str:
    shown = changes[: min(top, _NAMES_LISTED)]
    names = [f"{change.kernel} ({format_ns(change.base_ns or change.new_ns)})" for change in shown]
    rest = len(changes) - len(shown)
    return ", ".join(names) + (f" and {rest} more" if rest else "")


def _finding_lines(findings: Sequence[FindingChange]) -> Iterator[str]:
    moved = [finding for finding in findings if finding.fate in _FATES]
    stayed = len(findings) - len(moved)
    if not findings:
        return
    yield ""
    yield f"[bold]Findings[/]  {format_count(stayed, 'finding')} on both sides"
    for finding in moved:
        stake = finding.base_at_stake_ns if finding.fate == "went" else finding.new_at_stake_ns
        at_stake = "" if stake is None else f" ({format_ns(stake)} at stake)"
        yield f"{_FATES[finding.fate]} {marked_up(finding.title)}{at_stake}"


def _note_lines(comparison: Comparison) -> Iterator[str]:
    notes = [*comparison.notes, *([comparison.wall_unavailable] if comparison.wall_unavailable else [])]
    if notes:
        yield ""
    for note in notes:
        yield f"[dim]note: {marked_up(note)}[/]"


def _time(value: float) -> str:
    return format_ns(value) if value else "-"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{format_ns(value)}" if value else "0"
