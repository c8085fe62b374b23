"""Kernels of a code object in a terminal: all of them in a table, and a few in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath

from rich.console import Console, RenderableType
from rich.text import Text

from rocm_perf.arch.codeobject.instructions import Class
from rocm_perf.arch.codeobject.mix import Mix
from rocm_perf.arch.codeobject.model import Kernel
from rocm_perf.arch.codeobject.report import Code, KernelReport, ObjectReport
from rocm_perf.arch.occupancy import Occupancy
from rocm_perf.render.grid import GridColumn, fitted, squeezed
from rocm_perf.render.lines import MARKS, marked_up
from rocm_perf.text import clean
from rocm_perf.units import format_bytes, format_count, format_share

_NAME_ROOM = 24  # columns of the terminal that a kernel's name keeps; expendable ones give way, first to last
_EXPENDABLE = ("args", "SGPR", "AGPR", "scratch")
_LINES_SHOWN = 5
_OCCUPANCY_NOTE = "waves: resident per SIMD / maximum"

_Cell = Callable[[KernelReport], str]


def print_kernels(reports: Sequence[ObjectReport], console: Console) -> None:
    """Print every object with its kernels, in full where their code was read."""
    for position, report in enumerate(reports):
        if position:
            console.print()
        for block in _blocks(report, console.width):
            console.print(block, overflow="fold")


def _blocks(report: ObjectReport, width: int) -> Iterator[RenderableType]:
    item = report.code_object
    features = "".join(f":{feature}" for feature in item.features)
    abi = f" {item.abi}" if item.abi.startswith("v") else ""
    kernels = format_count(len(report.kernels), "kernel")
    yield (
        f"[bold]{marked_up(item.arch + features)}[/]  {item.kind}{abi}, {format_bytes(item.size_bytes)}, {kernels}"
        f"  [dim]{marked_up(item.place)}[/]"
    )
    if item.unread:
        yield f"[dim]kernels unavailable: {marked_up(item.unread)}[/]"
    if not report.kernels:
        return
    columns, left_out = _columns(report.kernels, width)
    yield fitted(columns, width)
    yield f"[dim]{_footnote(report.kernels, left_out)}[/]"
    detailed = [entry for entry in report.kernels if entry.code or entry.code_unavailable]
    for entry in detailed:
        yield from _detail(entry)
    if not detailed:
        yield "[dim]--kernel RE shows the arguments, instruction mix and observations of a kernel[/]"


_COLUMNS: tuple[tuple[str, _Cell], ...] = (
    ("VGPR", lambda entry: _count(entry.kernel.vgprs)),
    ("AGPR", lambda entry: _count(entry.kernel.agprs)),
    ("SGPR", lambda entry: _count(entry.kernel.sgprs)),
    ("spills", lambda entry: _spills(entry.kernel)),
    ("LDS", lambda entry: format_bytes(entry.kernel.lds_bytes)),
    ("scratch", lambda entry: format_bytes(entry.kernel.scratch_bytes)),
    ("args", lambda entry: format_bytes(entry.kernel.kernarg_bytes)),
    ("waves", lambda entry: _waves(entry.occupancy)),
)


def _columns(entries: Sequence[KernelReport], width: int) -> tuple[list[GridColumn], list[str]]:
    """Columns with something to show, and the names of those left out because the line is too short."""
    numbers = [GridColumn(name, [cell(entry) for entry in entries], numeric=True) for name, cell in _COLUMNS]
    numbers = [column for column in numbers if any(text not in ("0", "0 B", "-") for text in column.cells)]
    limits = GridColumn("limited by", [_limiters(entry.occupancy) for entry in entries], numeric=False)
    left_out = []
    for name in _EXPENDABLE:
        room = width - sum(column.width + 2 for column in (*numbers, limits))
        if room < _NAME_ROOM and any(column.heading == name for column in numbers):
            numbers = [column for column in numbers if column.heading != name]
            left_out.append(name)
    room = max(width - sum(column.width + 2 for column in (*numbers, limits)), 8)
    names = GridColumn("kernel", [squeezed(_short(entry.name), room) for entry in entries], numeric=False)
    return [*numbers, limits, names], left_out


def _footnote(entries: Sequence[KernelReport], left_out: Sequence[str]) -> str:
    parts = []
    sizes = {entry.workgroup_size for entry in entries if entry.occupancy}
    if sizes:
        groups = (
            f"with workgroups of {sizes.pop()}" if len(sizes) == 1 else "with the largest workgroup of each"
        )
        parts.append(f"{_OCCUPANCY_NOTE}, {groups}")
    reasons = dict.fromkeys(entry.occupancy_unavailable for entry in entries if entry.occupancy_unavailable)
    parts += [f"occupancy unavailable: {marked_up(reason)}" for reason in list(reasons)[:2] if reason]
    if left_out:
        parts.append(f"on a wider terminal also {', '.join(left_out)}")
    return "; ".join(parts)


def _detail(entry: KernelReport) -> Iterator[RenderableType]:
    yield ""
    yield f"[bold]{marked_up(entry.name)}[/]"
    yield from _occupancy_lines(entry)
    yield from _arguments(entry.kernel)
    if entry.code is None:
        yield f"[bold]Instructions[/]  [dim]unavailable: {marked_up(entry.code_unavailable or '')}[/]"
        return
    yield from _mix_lines(entry.code.mix)
    for finding in entry.code.observations:
        evidence = marked_up("; ".join(finding.evidence))
        mark, style = MARKS[finding.severity]
        yield f"[{style}]{mark}[/] [bold]{marked_up(finding.title)}[/]: {evidence}."
        if finding.remedy:
            yield f"[dim]  {marked_up(finding.remedy)}[/]"
    yield from _source_lines(entry.code.mix)
    yield from _listing(entry.code)


def _occupancy_lines(entry: KernelReport) -> Iterator[str]:
    occupancy = entry.occupancy
    if occupancy is None:
        yield f"[bold]Occupancy[/]  [dim]unavailable: {marked_up(entry.occupancy_unavailable or '')}[/]"
        return
    groups = f"{occupancy.workgroups_per_cu:g} workgroups of {entry.workgroup_size} per compute unit"
    groups = groups.replace("workgroups", "workgroup") if occupancy.workgroups_per_cu == 1 else groups
    yield (
        f"[bold]Occupancy[/]  {_waves(occupancy)} waves per SIMD ({format_share(occupancy.share)}), {groups}; "
        f"limited by {_limiters(occupancy)}; allocated: {occupancy.allocated_vgprs} vector registers, "
        f"{format_bytes(occupancy.allocated_lds)} LDS"
    )
    for step in occupancy.steps:
        yield f"[dim]  {marked_up(str(step))}[/]"


def _arguments(kernel: Kernel) -> Iterator[RenderableType]:
    shown = [argument for argument in kernel.arguments if not argument.hidden]
    hidden = len(kernel.arguments) - len(shown)
    more = f", {format_count(hidden, 'hidden one')} after them" if hidden else ""
    yield f"[bold]Arguments[/]  {format_bytes(kernel.kernarg_bytes)}, {format_count(len(shown), 'argument')}{more}"
    if not shown:
        return
    rows = [
        (
            str(item.offset),
            str(item.size_bytes),
            item.kind,
            item.address_space,
            f"{item.type_name} {item.name}".strip(),
        )
        for item in shown
    ]
    headings = ("offset", "bytes", "kind", "space", "name")
    columns = [
        GridColumn(heading, cells, numeric=heading in ("offset", "bytes"))
        for heading, cells in zip(headings, zip(*rows, strict=True), strict=True)
        if any(cells)
    ]
    yield fitted(columns, 80)


def _mix_lines(mix: Mix) -> Iterator[RenderableType]:
    whole, loops = mix.whole, mix.in_loops
    looped = (
        f"{loops.instructions:,} of them in {format_count(len(mix.loops), 'loop')}"
        if mix.loops
        else "no loop"
    )
    yield (
        f"[bold]Instructions[/]  {whole.instructions:,} in {format_bytes(whole.code_bytes)}, {looped}; "
        "[dim]counted in the code, not weighted by execution[/]"
    )
    yield fitted(
        [
            GridColumn("class", list(whole.classes), numeric=False),
            GridColumn("count", [f"{count:,}" for count in whole.classes.values()], numeric=True),
            GridColumn(
                "share",
                [format_share(count / whole.instructions) for count in whole.classes.values()],
                numeric=True,
            ),
            GridColumn(
                "in loops", [f"{loops.classes.get(kind, 0):,}" for kind in whole.classes], numeric=True
            ),
        ],
        80,
    )
    yield from _work_lines(mix)


def _work_lines(mix: Mix) -> Iterator[str]:
    whole = mix.whole
    if whole.matrix_flops:
        kinds = ", ".join(f"{count:,} of {name}" for name, count in whole.matrix_types.items())
        yield f"Matrix: {kinds}; {whole.matrix_flops:,} FLOPs per wave each time through"
    if whole.fma_types:
        yield "Multiply-adds: " + ", ".join(f"{count:,} {name}" for name, count in whole.fma_types.items())
    for title, widths in (
        ("Loads", whole.load_widths),
        ("Stores", whole.store_widths),
        ("LDS", whole.lds_widths),
    ):
        if widths:
            yield (
                f"{title}: "
                + ", ".join(f"{count:,} of {width} B" for width, count in widths.items())
                + " per lane"
            )
    if mix.undecoded:
        yield f"[yellow]{mix.undecoded:,} instructions are unknown to this disassembler; a newer LLVM may know them[/]"


def _source_lines(mix: Mix) -> Iterator[RenderableType]:
    if not mix.lines:
        yield "[dim]Source lines unavailable: compiled without debug information (-g or -gline-tables-only)[/]"
        return
    yield "[bold]Source lines[/]  with the most instructions"
    lines = mix.lines[:_LINES_SHOWN]
    yield fitted(
        [
            GridColumn("count", [f"{line.instructions:,}" for line in lines], numeric=True),
            GridColumn("line", [f"{PurePath(line.file).name}:{line.line}" for line in lines], numeric=False),
            GridColumn("classes", [_largest(line.classes) for line in lines], numeric=False),
        ],
        80,
    )


def _largest(classes: Mapping[Class, int]) -> str:
    ordered = sorted(classes.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{count} {kind}" for kind, count in ordered[:3])


def _listing(code: Code) -> Iterator[Text]:
    if not code.instructions:
        return
    yield Text("Listing", style="bold")
    for (file, line), group in groupby(code.instructions, key=lambda entry: (entry.file, entry.line)):
        if file is not None:
            yield Text(clean(f"; {PurePath(file).name}:{line}"), style="dim")
        for entry in group:
            arrow = "" if entry.target is None else f"  -> {entry.target:x}"
            yield Text(clean(f"{entry.address:8x}  {entry.text}{arrow}"))


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _spills(kernel: Kernel) -> str:
    known = [count for count in (kernel.vgpr_spills, kernel.sgpr_spills) if count is not None]
    return str(sum(known)) if known else "-"


def _waves(occupancy: Occupancy | None) -> str:
    return "-" if occupancy is None else f"{occupancy.waves_per_simd:g}/{occupancy.max_waves_per_simd}"


def _limiters(occupancy: Occupancy | None) -> str:
    return "-" if occupancy is None else ", ".join(occupancy.limiters)


def _short(name: str) -> str:
    """The name without its parameters: template arguments already distinguish kernels."""
    return name.removeprefix("void ").partition("(")[0] if not name.startswith("(") else name
