"""A document as Markdown: the same answer as in the terminal, with every number's formula at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

TOP = 20


def markdown(document: Document) -> str:
    """The whole report."""
    sections = (
        _head(document),
        _devices(document),
        _findings("Findings", document.findings),
        _kernels(document),
        _host(document),
        _copies(document),
        _coverage(document),
        _notes(document),
    )
    return "\n".join(line for section in sections for line in section) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], numeric: int = 0) -> Iterator[str]:
    """A Markdown table whose first `numeric` columns stand to the right."""
    yield _row(headings)
    yield _row(["---:"] * numeric + ["---"] * (len(headings) - numeric))
    for row in rows:
        yield _row([_cell(text) for text in row])
    yield ""


def _head(document: Document) -> Iterator[str]:
    run = document.run
    yield f"# {_cell(PurePath(document.label).name)}"
    yield ""
    facts = [f"Recorded by {run.tool}" + (f" {run.tool_version}" if run.tool_version else "")]
    if run.command:
        facts.append(f"command `{run.command.replace('`', '')}`")
    facts.append(f"analysed by {document.producer}")
    yield "; ".join(facts) + "."
    yield ""


def _devices(document: Document) -> Iterator[str]:
    if not document.devices:
        return
    yield "## GPUs"
    rows = [
        (
            "-" if device.busy.value is None else format_share(device.busy.value),
            *(
                format_ns(value)
                for value in (device.window_ns, device.kernel_ns, device.copy_ns, device.idle_ns)
            ),
            device.name,
        )
        for device in document.devices
    ]
    yield from table(("busy", "window", "kernels", "copies", "idle", "GPU"), rows, 5)


def _findings(title: str, findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield f"## {title}"
    for finding in findings:
        yield f"- **{_cell(finding.title)}.** {_cell('; '.join(finding.evidence))}"
        if finding.projected_speedup is not None and finding.projected_speedup.value:
            gain = finding.projected_speedup
            yield f"  - At most {gain.value:.2f}x faster without it ({gain.formula})."
        if finding.remedy:
            yield f"  - {_cell(finding.remedy)}"
    yield ""


def _kernels(document: Document) -> Iterator[str]:
    spots = document.hotspots
    yield "## Kernels"
    if not spots.rows:
        yield f"None: {spots.unavailable}."
        yield ""
        return
    dispatches = format_count(spots.dispatches, "dispatch", "dispatches")
    yield f"{dispatches} of {format_count(spots.kernels, 'kernel')}, {format_ns(spots.total_ns)} summed."
    yield ""
    rows = [
        (
            format_share(spot.share),
            format_ns(spot.total_ns),
            f"{spot.calls:,}",
            format_ns(spot.mean_ns),
            "-" if spot.median_ns is None else format_ns(spot.median_ns),
            f"`{spot.short_name}`",
        )
        for spot in spots.rows[:TOP]
    ]
    yield from table(("share", "total", "calls", "mean", "median", "kernel"), rows, 5)


def _host(document: Document) -> Iterator[str]:
    if not document.domains:
        return
    yield "## Host"
    rows = [
        (
            format_ns(total.union_ns),
            f"{total.calls:,}",
            total.domain,
            f"{total.busiest} ({format_ns(total.busiest_ns)})",
        )
        for total in document.domains
    ]
    yield from table(("time", "calls", "domain", "longest in total"), rows, 2)


def _copies(document: Document) -> Iterator[str]:
    if not document.copies:
        return
    yield "## Copies"
    rows = [
        (
            format_ns(total.total_ns),
            f"{total.copies:,}",
            "-" if total.size_bytes is None else format_bytes(total.size_bytes),
            "-" if total.bandwidth.value is None else f"{total.bandwidth.value:.3g} GB/s",
            total.kind,
        )
        for total in document.copies
    ]
    yield from table(("time", "copies", "bytes", "rate", "kind"), rows, 4)


def _coverage(document: Document) -> Iterator[str]:
    coverage = document.coverage
    counts = ", ".join(f"{name} {count:,}" for name, count in coverage.recorded.items())
    yield "## Coverage"
    yield f"Recorded: {counts or 'nothing'}."
    if coverage.launched is not None and coverage.paired is not None:
        paired = f"{coverage.paired:,} of them paired with a call"
        yield f"{coverage.launched:,} launches, {coverage.dispatched:,} kernels, {paired}."
    yield ""
    yield from _findings("Holes", coverage.holes)


def _notes(document: Document) -> Iterator[str]:
    if document.run.notices:
        yield "## Notes"
        yield from (f"- {_cell(notice)}" for notice in document.run.notices)
        yield ""
    yield "## How the numbers are made"
    yield from table(("number", "formula"), sorted(document.formulas.items()))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
