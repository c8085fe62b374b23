"""The first screen, at most forty lines: what holds the program back, where the time goes, how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.contents import Excerpt
from rocm_perf.model.results.times import DeviceTime, Hotspot
from rocm_perf.render.grid import fitted, whole
from rocm_perf.render.lines import MARKS, height, labelled, line, marked, paragraph
from rocm_perf.render.sections.idle import idle_line
from rocm_perf.render.sections.index import beyond_first_screen
from rocm_perf.render.sections.instructions import instructions_section, pc_samples_section
from rocm_perf.render.sections.kernels import bottleneck_labels, kernel_counts, path_scores
from rocm_perf.render.sections.program import energy_section
from rocm_perf.render.sections.recording import recorded_line
from rocm_perf.render.sections.section import Columns, code, count, grids, number, share, text, time, worth
from rocm_perf.render.sections.verdicts import (
    NO_FINDINGS,
    excerpt_grid,
    notable_excerpts,
    pairing,
    scorecard_line,
)
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

LINES = 40
_KERNELS, _FEWEST_KERNELS = 10, 5
# Findings shown, how many of them with a remedy, lines of evidence each: the first plan that leaves room for kernels.
_FINDINGS = ((5, 5, 2), (5, 5, 1), (5, 3, 1), (5, 1, 1), (3, 1, 1), (2, 1, 1), (1, 1, 1))
_AROUND_KERNELS = 4  # a blank line, the heading, the columns, the line about the rest
_HOLES = 3

# What one row of a table is called.
_NOUNS = {
    "dispatches": ("dispatch", "dispatches"),
    "api_calls": ("API call", "API calls"),
    "ops": ("operator call", "operator calls"),
    "copies": ("copy", "copies"),
    "scratch": ("scratch event", "scratch events"),
    "counters": ("counter value", "counter values"),
    "samples": ("row of sensor readings", "rows of sensor readings"),
    "pc_samples": ("PC sample", "PC samples"),
    "kernels": ("kernel symbol", "kernel symbols"),
    "agents": ("device", "devices"),
    "summaries": ("row of statistics", "rows of statistics"),
    "ceilings": ("measured peak", "measured peaks"),
    "counter_info": ("counter description", "counter descriptions"),
}


@dataclass(frozen=True)
class View:
    """How much to show."""

    top: int | None = None  # rows of each list; None: as many as fit
    full_names: bool = False
    brief: bool = False  # one of several runs
    width: int = 80


def answer(document: Document, view: View) -> list[RenderableType]:
    """The first screen about one run."""
    head, tail = list(_head(document, view)), list(_tail(document, view))
    room = LINES - height(head) - height(tail) - _AROUND_KERNELS
    plans = [list(_findings(document, view, *plan)) for plan in (_FINDINGS[-1:] if view.brief else _FINDINGS)]
    needed = min(_FEWEST_KERNELS, len(document.hotspots.rows))
    middle = next((plan for plan in plans if room - height(plan) >= needed), plans[-1])
    fitting = min(room - height(middle), 3 if view.brief else _KERNELS)
    return [*head, *middle, *_kernels(document, view, view.top or max(fitting, 1)), *tail]


def _head(document: Document, view: View) -> Iterator[RenderableType]:
    run = document.run
    tool = run.tool + (f" {run.tool_version}" if run.tool_version else "")
    as_profiled = ", times as profiled" if document.devices and _cost_is_unknown(document) else ""
    yield line((PurePath(document.label).name, "bold"), "  ", (tool + as_profiled, "dim"))
    if run.command:
        yield line((f"$ {run.command}", "dim"))
    yield from _recorded(document, view)
    most = 2 if view.brief else 4
    for device in document.devices[:most]:
        yield line(*_device(device))
    if len(document.devices) > most:
        yield line((f"and {format_count(len(document.devices) - most, 'more GPU')} (--show gpus)", "dim"))
    if document.gaps.gaps and document.gaps.idle_ns:
        yield from labelled("Idle", idle_line(document.gaps), view.width, 2)
    timed = run.collection is not None and not run.collection.profiled
    if not document.devices and not document.hotspots.rows and not timed:
        yield from paragraph(_contents(document), view.width, 3)
        for describe in (instructions_section, pc_samples_section, energy_section):
            for text in describe(document, 1).lines[:1]:
                yield from paragraph(text, view.width, 3)


def _cost_is_unknown(document: Document) -> bool:
    """Whether nothing says what profiling cost: another tool recorded the run (the simulator costs nothing)."""
    return document.run.collection is None and document.run.tool != "rocm-perf sim"


def _recorded(document: Document, view: View) -> Iterator[Text]:
    """What was recorded, and the first thing that could not be."""
    record = document.run.collection
    if record is None:
        return
    yield from labelled("Recorded", recorded_line(record, document.overhead), view.width, 2)
    if record.could_not:
        more = (
            f" (and {len(record.could_not) - 1} more: --show recording)" if len(record.could_not) > 1 else ""
        )
        yield from labelled("Could not", record.could_not[0] + more, view.width, 2)


def _device(device: DeviceTime) -> Iterator[str | tuple[str, str]]:
    yield f"{device.name}: busy "
    if device.busy.value is None:
        yield f"for {format_ns(device.busy_ns)}"
    else:
        yield format_share(device.busy.value), "bold"
        yield f" of {format_ns(device.window_ns)}"
    yield f", idle {format_ns(device.idle_ns)}"


def _contents(document: Document) -> str:
    counts = [
        format_count(rows, *_NOUNS.get(name, (name.removesuffix("s"), name)))
        for name, rows in document.tables.items()
        if name not in ("nodes", "processes")
    ]
    if not counts:
        return "The file was recognised, but it contains nothing to show."
    return f"No kernel times here; the recording holds {', '.join(counts)}."


def _findings(document: Document, view: View, shown: int, explained: int, evidence: int) -> Iterator[Text]:
    findings = document.findings
    if not document.devices and not findings:
        return
    yield Text()
    if findings:
        yield line(("What holds it back", "bold"))
    else:
        yield from labelled("What holds it back", NO_FINDINGS, view.width, 2)
    for place, finding in enumerate(findings[:shown]):
        more = _added_options(finding, document)
        yield line(
            (f" {place + 1} ", MARKS[finding.severity][1]),
            (finding.title, "bold"),
            (f"  {more}" if more else "", "dim"),
        )
        yield from paragraph(_worth_and_evidence(finding), view.width, evidence, indent="   ")
        if place < explained:
            yield from _remedy(finding, view, more)
    if len(findings) > shown and not view.brief:
        yield line((f"   and {format_count(len(findings) - shown, 'more finding')} (--show findings)", "dim"))
    if scores := scorecard_line(document.scorecard) if not view.brief else "":
        yield from labelled("Scorecard", scores, view.width, 2)


def _worth_and_evidence(finding: Finding) -> str:
    return ": ".join(part for part in (worth(finding), "; ".join(finding.evidence)) if part)


def _added_options(finding: Finding, document: Document) -> str:
    """The options that the next command adds to `analyze` of this recording; empty where it is another command."""
    again = f"rocm-perf analyze {document.label} "
    return finding.next_command.removeprefix(again) if finding.next_command.startswith(again) else ""


def _remedy(finding: Finding, view: View, more: str) -> Iterator[Text]:
    if finding.remedy:
        yield from paragraph(finding.remedy, view.width, 2, indent="   ", style="dim")
    if finding.next_command and not more:
        yield line((f"   $ {finding.next_command}", "dim"))


def _kernels(document: Document, view: View, rows: int) -> Iterator[RenderableType]:
    spots = document.hotspots.rows
    if not spots:
        return
    yield Text()
    yield line(("Kernels", "bold"), f"  {kernel_counts(document)}")
    yield _kernel_table(document, spots[:rows], view)
    if rest := spots[rows:]:
        total = format_ns(sum(spot.total_ns for spot in rest))
        yield line(
            (
                f"{format_count(len(rest), 'more kernel')}: {total} (--top N, --full-names, --show kernels)",
                "dim",
            )
        )


def _kernel_table(document: Document, spots: tuple[Hotspot, ...], view: View) -> Table:
    score, label = path_scores(document), bottleneck_labels(document)
    columns: Columns[Hotspot] = (
        number("share", lambda row: share(row.share)),
        number("total", lambda row: time(row.total_ns)),
        number("calls", lambda row: count(row.calls)),
        number("mean", lambda row: time(row.mean_ns)),
        number("path", lambda row: share(score.get(row.kernel))),
        text("bound by", lambda row: label.get(row.kernel, "")),
        code("kernel", lambda row: row.kernel if view.full_names else row.short_name),
    )
    (table,) = grids("", spots, columns)
    return whole(table.columns) if view.full_names else fitted(table.columns, view.width)


def _tail(document: Document, view: View) -> Iterator[RenderableType]:
    if document.domains or document.copies:
        yield Text()
    if document.domains:
        yield from labelled("Host", _host(document), view.width, 2)
    if document.copies:
        yield from labelled("Copies", _copies(document), view.width, 2)
    for excerpt in notable_excerpts(document)[: 1 if view.brief else 2]:
        yield from _excerpt(excerpt, document, view)
    yield from _trust(document, view)
    if not view.brief and (more := beyond_first_screen(document)):
        yield from labelled("More", f"--show any of {', '.join(more)}, or all", view.width, 2)


def _host(document: Document) -> str:
    return "; ".join(
        f"{row.domain} {format_ns(row.union_ns)} in {format_count(row.calls, 'call')} "
        f"({row.busiest} {format_ns(row.busiest_ns)})"
        for row in document.domains[:4]
    )


def _copies(document: Document) -> str:
    parts = []
    for copy in document.copies[:4]:
        size = "" if copy.size_bytes is None else f", {format_bytes(copy.size_bytes)}"
        rate = "" if copy.bandwidth.value is None else f" at {copy.bandwidth.value:.3g} GB/s"
        parts.append(f"{copy.copies:,} {copy.kind} in {format_ns(copy.total_ns)}{size}{rate}")
    return "; ".join(parts)


def _excerpt(excerpt: Excerpt, document: Document, view: View) -> Iterator[RenderableType]:
    table = excerpt_grid(excerpt, 4 if document.hotspots.rows else 9)
    shown = len(table.columns[0].cells)
    rest = f"  first {shown} of {shown + table.left_out:,}" if table.left_out else ""
    yield Text()
    yield line((excerpt.title, "bold"), (rest, "dim"))
    yield fitted(table.columns, view.width)


def _trust(document: Document, view: View) -> Iterator[Text]:
    """How many kernels have their launch, what is doubtful or missing, and notices."""
    coverage = document.coverage
    worst = [*document.sanity, *coverage.holes]
    if coverage.dispatched or worst:
        yield Text()
        yield from labelled("Coverage", pairing(coverage), view.width, 2)
    for hole in worst[:_HOLES]:
        detail = hole.evidence[0] if hole.severity == "error" and hole.evidence else ""
        yield from marked(hole.severity, f"{hole.title}. {detail} {hole.remedy}", view.width, 2)
    if len(worst) > _HOLES:
        yield line((f"and {len(worst) - _HOLES} more (--show coverage,sanity)", "dim"))
    for notice in () if view.brief else document.run.notices[:2]:
        yield line((f"note: {notice}", "dim"))
