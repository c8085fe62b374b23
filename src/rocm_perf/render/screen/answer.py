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
from rocm_perf.render.screen.drawn import BAR_FROM, phase_lines
from rocm_perf.render.screen.finding import Detail, finding_lines, finding_named
from rocm_perf.render.screen.hotspots import LEGEND_LINES, hotspot_blocks
from rocm_perf.render.screen.view import View
from rocm_perf.render.sections.headline import contents, has_phases, limit_line, ranked_findings
from rocm_perf.render.sections.idle import idle_line
from rocm_perf.render.sections.index import beyond_first_screen
from rocm_perf.render.sections.instructions import instructions_section, pc_samples_section
from rocm_perf.render.sections.layers import layer_line
from rocm_perf.render.sections.memory import memory_section
from rocm_perf.render.sections.phases import phase_line
from rocm_perf.render.sections.program import energy_section
from rocm_perf.render.sections.recording import recorded_line
from rocm_perf.render.sections.serving import serving_line
from rocm_perf.render.sections.verdicts import (
    NO_FINDINGS,
    excerpt_grid,
    notable_excerpts,
    pairing,
)
from rocm_perf.render.sections.windows import windows_line
from rocm_perf.units import format_count, format_ns, format_share

LINES = 40
_KERNELS, _FEWEST_KERNELS = 10, 3


class _Plan(NamedTuple):
    """How many findings are told, how much of each, and how many more are named."""

    told: int
    detail: Detail
    named: int = 0


# The first that leaves room for kernels. What a second finding says matters more than more of them.
_PLANS = (
    _Plan(3, Detail(reasons=2)),
    _Plan(3, Detail(reasons=1)),
    _Plan(2, Detail(reasons=2), named=1),
    _Plan(2, Detail(reasons=1), named=1),
    _Plan(1, Detail(reasons=1), named=2),
    _Plan(1, Detail(reasons=1), named=1),
    _Plan(1, Detail(reasons=1)),
    _Plan(1, Detail(reasons=1, lines=3)),  # for a recording with names or texts of any length
)
_AROUND_KERNELS = 4  # a blank line, the heading, the columns, the line about the rest
_HOLES = 3


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
    yield from _phases(document, view)
    for sentence in limit_line(document):
        yield from paragraph(sentence, view.width, 3)
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
    if document.gaps.gaps and document.gaps.idle_ns and not document.gaps.doubt:
        yield from labelled("Idle", idle_line(document.gaps), view.width)
    timed = run.collection is not None and not run.collection.profiled
    if not document.devices and not document.hotspots.rows and not timed:
        yield from paragraph(contents(document), view.width, 3)
        for describe in (instructions_section, pc_samples_section, energy_section, memory_section):
            for text in describe(document, 1).lines[:1]:
                yield from paragraph(text, view.width, 3)


def _phases(document: Document, view: View) -> Iterator[Text]:
    if not has_phases(document):
        return
    if view.characters and view.width >= BAR_FROM and not view.brief:
        yield from phase_lines(document.phases, view.characters, view.width)
    else:
        yield from paragraph(phase_line(document.phases), view.width, 3)


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
    shown = plan.told + plan.named
    for number, finding in enumerate(findings[:shown], start=1):
        if number <= plan.told:
            yield from finding_lines(number, finding, document, plan.detail, view.width)
        else:
            yield from finding_named(number, finding, document, view.width)
    if len(findings) > shown and not view.brief:
        yield line((f"   and {format_count(len(findings) - shown, 'more finding')} (--show findings)", "dim"))
    for finding in later[: 0 if view.brief else 1]:
        yield from labelled("Start-up", f"{finding.title}; {finding.evidence[0]}", view.width)


def _tail(document: Document, view: View) -> Iterator[RenderableType]:
    for excerpt in notable_excerpts(document)[: 1 if view.brief else 2]:
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
