"""The first screen, at most forty lines: what holds the program back, where the time goes, how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from rich.console import RenderableType
from rich.text import Text

from rocm_perf.model.document import Document
from rocm_perf.model.results.contents import Excerpt
from rocm_perf.model.results.times import DeviceTime
from rocm_perf.model.run import SIMULATOR
from rocm_perf.render.grid import fitted
from rocm_perf.render.lines import height, labelled, line, marked, paragraph
from rocm_perf.render.screen.drawn import BAR_FROM, share_lines
from rocm_perf.render.screen.finding import Detail, finding_details, finding_summary
from rocm_perf.render.screen.hotspots import LEGEND_LINES, hotspot_blocks
from rocm_perf.render.screen.view import View
from rocm_perf.render.sections.headline import (
    clause_ends,
    contents,
    has_phases,
    limit_line,
    phases_told,
    ranked_findings,
)
from rocm_perf.render.sections.index import beyond_first_screen
from rocm_perf.render.sections.instructions import instructions_section, pc_samples_section
from rocm_perf.render.sections.layers import layer_line
from rocm_perf.render.sections.ledger import idle_words
from rocm_perf.render.sections.memory import memory_section
from rocm_perf.render.sections.program import energy_section
from rocm_perf.render.sections.recording import recorded_line
from rocm_perf.render.sections.serving import serving_line
from rocm_perf.render.sections.verdicts import (
    NO_FINDINGS,
    excerpt_grid,
    first_excerpts,
    pairing,
)
from rocm_perf.render.sections.windows import windows_line
from rocm_perf.units import format_count, format_ns, format_share

LINES = 40
_KERNELS, _FEWEST_KERNELS = 10, 3


class _Plan(NamedTuple):
    """How many findings are summarised, and how much of the first is told."""

    summaries: int
    detail: Detail | None


# The first that leaves room for kernels. What the second and third say matters more than all reasons of the first.
_PLANS = (
    _Plan(3, Detail(reasons=2)),
    _Plan(3, Detail(reasons=1)),
    _Plan(3, Detail(reasons=1, lines=3)),
    _Plan(3, Detail(reasons=1, lines=1)),
    _Plan(3, None),
    _Plan(1, Detail(reasons=1, lines=3)),  # of one of several runs, and names or texts of any length
)
_AROUND_KERNELS = 4  # a blank line, the heading, the columns, the line about the rest
_HOLES = 3
_START_UP = 2  # lines


def answer(document: Document, view: View) -> list[RenderableType]:
    """The first screen about one run."""
    head, tail = list(_head(document, view)), list(_tail(document, view))
    room = LINES - height(head) - height(tail) - _AROUND_KERNELS
    plans = [list(_findings(document, view, plan)) for plan in (_PLANS[-1:] if view.brief else _PLANS)]
    needed = min(_FEWEST_KERNELS, len(document.hotspots.rows))
    middle = next((plan for plan in plans if room - height(plan) >= needed), plans[-1])
    left = room - height(middle)
    legend = 0 if view.brief or not needed else max(min(left - needed, LEGEND_LINES), 0)
    fitting = min(left - legend, 3 if view.brief else _KERNELS)
    kernels = hotspot_blocks(
        document,
        view,
        rows=view.top or max(fitting, 1),
        lines=left + _AROUND_KERNELS - 1,
        legend=legend,
    )
    return [*head, *middle, *kernels, *tail]


def _head(document: Document, view: View) -> Iterator[RenderableType]:
    run = document.run
    tool = run.tool + (f" {run.tool_version}" if run.tool_version else "")
    as_profiled = ", times as profiled" if document.devices and _cost_is_unknown(document) else ""
    yield line((PurePath(document.label).name, "bold"), "  ", (tool + as_profiled, "dim"))
    if run.command:
        yield line((f"$ {run.command}", "dim"))
    yield from _recorded(document, view)
    if samples := windows_line(document):
        yield from labelled("Windows", samples, view.width, 2)
    if has_phases(document):
        yield from paragraph(phases_told(document), view.width, 3)
    for sentence in limit_line(document):
        yield from paragraph(sentence, view.width, 4)
    drawn = _shares(document, view)
    yield from drawn
    most = 2 if view.brief else 4
    several = document.devices if len(document.devices) > 1 else ()
    for device in several[:most]:
        yield line(*_device(device))
    if len(several) > most:
        yield line((f"and {format_count(len(document.devices) - most, 'more GPU')} (--show gpus)", "dim"))
    if steps := serving_line(document):
        yield from labelled("Steps", steps, view.width, 3)
    if layers := layer_line(document):
        yield from labelled("Layers", layers, view.width, 2)
    if not drawn and not view.brief and (idle := idle_words(document.ledger)):
        yield from labelled("Idle", idle, view.width, 2)
    timed = run.collection is not None and not run.collection.profiled
    if not document.devices and not document.hotspots.rows and not timed:
        yield from paragraph(contents(document), view.width, 3)
        for describe in (instructions_section, pc_samples_section, energy_section, memory_section):
            for text in describe(document, 1).lines[:1]:
                yield from paragraph(text, view.width, 3)


def _shares(document: Document, view: View) -> list[Text]:
    """Return the bar of the judged time, where there is room."""
    if not view.characters or view.width < BAR_FROM or view.brief:
        return []
    return share_lines(document.ledger, view.characters, view.width)


def _cost_is_unknown(document: Document) -> bool:
    """Whether nothing says what profiling cost: another tool recorded the run (the simulator costs nothing)."""
    return document.run.collection is None and document.run.tool != SIMULATOR


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
    yield f"{device.name if device.rank is None else device.number}: busy "
    if device.busy.value is None:
        yield f"for {format_ns(device.busy_ns)}"
    else:
        yield format_share(device.busy.value), "bold"
        yield f" of {format_ns(device.window_ns)}"
    yield f", idle {format_ns(device.idle_ns)}"


def _findings(document: Document, view: View, plan: _Plan) -> Iterator[Text]:
    findings, later = ranked_findings(document)
    if not document.devices and not findings:
        return
    yield Text()
    if not findings:
        yield from labelled("What holds it back", NO_FINDINGS, view.width, 2)
    told = findings[: plan.summaries]
    alone = len(told) == 1 and plan.detail is not None
    for number, finding in enumerate(told, start=1):
        yield from finding_summary(number, finding, document, view.width, is_alone=alone)
    if told and plan.detail:
        mark = "" if alone else "1"
        yield from finding_details(mark, told[0], plan.detail, view.width, is_alone=alone)
    if len(findings) > plan.summaries and not view.brief:
        more = format_count(len(findings) - plan.summaries, "more finding")
        yield line((f"   and {more} (--show findings)", "dim"))
    for finding in later[: 0 if view.brief else 1]:
        yield from start_up("; ".join((finding.title, *finding.evidence[:1])), view.width)


def start_up(said: str, width: int) -> list[Text]:
    """Return as many whole clauses as fit, at least the first."""
    shorter = (said[:end] for end in reversed(clause_ends(said)))
    tried = (labelled("Start-up", text, width) for text in (said, *shorter))
    fitting = next((rows for rows in tried if len(rows) <= _START_UP), None)
    return fitting or labelled("Start-up", said, width, _START_UP)


def _tail(document: Document, view: View) -> Iterator[RenderableType]:
    for excerpt in first_excerpts(document)[: 1 if view.brief else 2]:
        yield from _excerpt(excerpt, document, view)
    yield from _trust(document, view)
    if not view.brief and (more := beyond_first_screen(document)):
        yield from labelled("More", f"--show any of {', '.join(more)}, or all", view.width)


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
        detail = f"{hole.evidence[0].rstrip('.')}." if hole.severity == "error" and hole.evidence else ""
        yield from marked(hole.severity, f"{hole.title}. {detail} {hole.remedy}", view.width, 3)
    if len(worst) > _HOLES:
        yield line((f"and {len(worst) - _HOLES} more (--show coverage,sanity)", "dim"))
    for notice in () if view.brief else document.run.notices[:2]:
        yield line((f"note: {notice}", "dim"))
