"""A document in a terminal: the answer first, at most forty lines unless more is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rocm_perf.model.document import DeviceTime, Document, Excerpt, Hotspot
from rocm_perf.model.finding import Finding
from rocm_perf.render.grid import GridColumn, fitted
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

# What one row of a table is called.
_NOUNS = {
    "dispatches": ("dispatch", "dispatches"),
    "api_calls": ("API call", "API calls"),
    "ops": ("operator call", "operator calls"),
    "copies": ("copy", "copies"),
    "scratch": ("scratch event", "scratch events"),
    "counters": ("counter value", "counter values"),
    "samples": ("sensor reading", "sensor readings"),
    "pc_samples": ("PC sample", "PC samples"),
    "kernels": ("kernel symbol", "kernel symbols"),
    "agents": ("device", "devices"),
    "summaries": ("row of statistics", "rows of statistics"),
    "ceilings": ("measured peak", "measured peaks"),
    "counter_info": ("counter description", "counter descriptions"),
}
_MARKS = {"error": "[red]✗[/]", "warning": "[yellow]![/]", "info": "[blue]i[/]"}


@dataclass(frozen=True)
class View:
    """How much to show."""

    top: int = 10
    full_names: bool = False
    brief: bool = False  # one of several runs
    width: int = 80


def print_document(document: Document, console: Console, view: View) -> None:
    """The whole answer about one run."""
    for block in _blocks(document, view):
        console.print(block, overflow="ellipsis" if isinstance(block, Table) else "fold")


def _blocks(document: Document, view: View) -> Iterator[RenderableType]:
    yield _title(document)
    yield from _device_lines(document, view)
    yield from _finding_blocks(document)
    if document.hotspots.rows:
        yield ""
        yield f"[bold]Kernels[/]  {_kernel_basis(document)}"
        yield _hotspot_table(document, view)
        yield from _rest_of_kernels(document, view)
    yield from _host_block(document)
    yield from _copy_block(document)
    yield from _excerpt_blocks(document, view)
    yield from _coverage_block(document, view)


def _title(document: Document) -> str:
    run = document.run
    tool = escape(run.tool + (f" {run.tool_version}" if run.tool_version else ""))
    command = f"\n[dim]$ {escape(run.command[:160])}[/]" if run.command else ""
    return f"[bold]{escape(PurePath(document.label).name)}[/]  [dim]{tool}[/]{command}"


def _device_lines(document: Document, view: View) -> Iterator[str]:
    shown = 2 if view.brief else 4
    for device in document.devices[:shown]:
        yield _device_line(device)
    if len(document.devices) > shown:
        yield f"[dim]and {len(document.devices) - shown} more GPUs (--json has all)[/]"
    if not document.devices and not document.hotspots.rows:
        yield _contents(document)


def _device_line(device: DeviceTime) -> str:
    share = device.busy.value
    busy = (
        f"busy [bold]{format_share(share)}[/] of {format_ns(device.window_ns)}"
        if share is not None
        else f"busy for {format_ns(device.busy_ns)}"
    )
    copies = f", copies {format_ns(device.copy_ns)}" if device.copies else ""
    spent = f"kernels {format_ns(device.kernel_ns)}{copies}, idle {format_ns(device.idle_ns)}"
    return f"{escape(device.name)}: {busy} ({spent})"


def _finding_blocks(document: Document) -> Iterator[str]:
    for finding in document.findings[:3]:
        gain = finding.projected_speedup
        most = f" At most {gain.value:.2f}x faster without." if gain is not None and gain.value else ""
        yield ""
        evidence = escape("; ".join(finding.evidence[:2]))
        yield f"{_MARKS[finding.severity]} [bold]{escape(finding.title)}[/]: {evidence}.{most}"
        yield f"[dim]  {escape(finding.remedy)}[/]"


def _contents(document: Document) -> str:
    held = [
        _noun(name, count) for name, count in document.tables.items() if name not in ("nodes", "processes")
    ]
    if not held:
        return "The file was recognised, and holds nothing that a table could show."
    return f"No kernel times here; the recording holds {', '.join(held)}."


def _noun(table: str, count: int) -> str:
    singular, plural = _NOUNS.get(table, (table.removesuffix("s"), table))
    return format_count(count, singular, plural)


def _kernel_basis(document: Document) -> str:
    spots = document.hotspots
    dispatches = format_count(spots.dispatches, "dispatch", "dispatches")
    counts = f"{dispatches} of {format_count(spots.kernels, 'kernel')}, {format_ns(spots.total_ns)} summed"
    return counts if spots.basis == "dispatches" else f"{counts}; from {spots.basis}"


def _hotspot_table(document: Document, view: View) -> Table:
    headings = ("share", "total", "calls", "mean", "median", "max")
    spots = document.hotspots.rows[: view.top]
    cells = [_hotspot_cells(spot) for spot in spots]
    taken = sum(max(map(len, column)) + 2 for column in zip(headings, *cells, strict=True))
    table = _plain_table(*headings)
    table.add_column("kernel", no_wrap=not view.full_names, overflow="fold", ratio=1)
    for spot, row in zip(spots, cells, strict=True):
        name = spot.kernel if view.full_names else _squeezed(spot.short_name, view.width - taken)
        table.add_row(*row, Text(name))
    return table


def _squeezed(name: str, room: int) -> str:
    """A name that fits: cut in its middle, because instances of one kernel differ at their end."""
    if len(name) <= room:
        return name
    head = max(room - 1, 2) // 2
    return f"{name[:head]}…{name[-(max(room - 1, 2) - head) :]}"


def _hotspot_cells(spot: Hotspot) -> tuple[str, ...]:
    return (
        format_share(spot.share),
        format_ns(spot.total_ns),
        f"{spot.calls:,}",
        format_ns(spot.mean_ns),
        "-" if spot.median_ns is None else format_ns(spot.median_ns),
        "-" if spot.max_ns is None else format_ns(spot.max_ns),
    )


def _rest_of_kernels(document: Document, view: View) -> Iterator[str]:
    rest = document.hotspots.rows[view.top :]
    if rest:
        total = sum(spot.total_ns for spot in rest)
        more = f"{format_count(len(rest), 'more kernel')}: {format_ns(total)}"
        yield f"[dim]{more} (--top N shows more, --full-names whole names)[/]"


def _host_block(document: Document) -> Iterator[RenderableType]:
    if not document.domains:
        return
    yield ""
    yield "[bold]Host[/]  time in calls, nested ones counted once per thread"
    table = _plain_table("time", "calls")
    table.add_column("domain")
    table.add_column("longest in total", no_wrap=True, overflow="ellipsis", ratio=1)
    for domain in document.domains[:4]:
        table.add_row(
            format_ns(domain.union_ns),
            f"{domain.calls:,}",
            domain.domain,
            Text(f"{domain.busiest}  {format_ns(domain.busiest_ns)}"),
        )
    yield table


def _copy_block(document: Document) -> Iterator[RenderableType]:
    if not document.copies:
        return
    yield ""
    parts = []
    for copy in document.copies[:4]:
        size = "" if copy.size_bytes is None else f", {format_bytes(copy.size_bytes)}"
        rate = "" if copy.bandwidth.value is None else f" at {copy.bandwidth.value:.3g} GB/s"
        parts.append(f"{copy.kind} {copy.copies:,} in {format_ns(copy.total_ns)}{size}{rate}")
    yield f"[bold]Copies[/]  {'; '.join(parts)}"


def _excerpt_blocks(document: Document, view: View) -> Iterator[RenderableType]:
    """Everything else the recording holds: in full where there are no kernels, else counters alone."""
    chosen = [excerpt for excerpt in document.excerpts if _worth_showing(excerpt, document)]
    limit = 1 if view.brief or document.hotspots.rows else 2
    for excerpt in chosen[:limit]:
        yield ""
        yield f"[bold]{excerpt.title}[/]" + (
            f"  [dim]first {len(excerpt.rows)} of {len(excerpt.rows) + excerpt.left_out:,}[/]"
            if excerpt.left_out
            else ""
        )
        yield _excerpt_table(excerpt, 5 if document.hotspots.rows else 10, view.width)


def _worth_showing(excerpt: Excerpt, document: Document) -> bool:
    if not excerpt.rows:
        return False
    if document.hotspots.rows:
        return excerpt.table in ("counters", "pc_samples", "instructions")
    return not (excerpt.table == "summaries" and document.domains)


def _excerpt_table(excerpt: Excerpt, most: int, width: int) -> Table:
    columns = [[row[position] for row in excerpt.rows[:most]] for position in range(len(excerpt.columns))]
    return fitted(
        [
            GridColumn(name.replace("_", " "), cells, all(_looks_numeric(cell) for cell in cells))
            for name, cells in zip(excerpt.columns, columns, strict=True)
        ],
        width,
    )


def _looks_numeric(cell: str) -> bool:
    return not cell or cell[0].isdigit() or (cell[0] == "-" and cell[1:2].isdigit())


def _coverage_block(document: Document, view: View) -> Iterator[RenderableType]:
    coverage = document.coverage
    notices = [notice for notice in document.run.notices if not view.brief]
    if coverage.dispatched or coverage.holes:
        yield ""
        yield f"[bold]Coverage[/]  {_pairing(document)}"
    for hole in coverage.holes[:4]:
        yield _hole(hole)
    if len(coverage.holes) > 4:
        yield f"[dim]and {len(coverage.holes) - 4} more (--json has all)[/]"
    for notice in notices[:3]:
        yield f"[dim]note: {escape(notice)}[/]"


def _pairing(document: Document) -> str:
    coverage = document.coverage
    if not coverage.dispatched:
        return "no kernel was recorded"
    kernels = format_count(coverage.dispatched, "kernel")
    if coverage.launched is None:
        return f"{kernels} recorded; launches were not recorded, so none can be paired"
    launches = format_count(coverage.launched, "launch", "launches")
    if coverage.paired is None:
        return f"{kernels} and {launches} recorded, without ids to pair them"
    share = format_share(coverage.paired / coverage.dispatched)
    return f"{launches}, {kernels} recorded, {coverage.paired:,} paired ({share})"


def _hole(hole: Finding) -> str:
    evidence = (
        f" [dim]{escape(hole.evidence[0][:140])}[/]" if hole.severity == "error" and hole.evidence else ""
    )
    remedy = f" {escape(hole.remedy)}" if hole.remedy else ""
    return f"{_MARKS[hole.severity]} {escape(hole.title)}.{evidence}{remedy}"


def _plain_table(*numeric: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    for column in numeric:
        table.add_column(column, justify="right", no_wrap=True)
    return table
