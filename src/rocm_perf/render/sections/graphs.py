"""Graphs that were replayed, and what their captures say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from rocm_perf.model.adoption import Adoption
from rocm_perf.model.document import Document
from rocm_perf.model.results.graphs import Graph, GraphKernel, Graphs
from rocm_perf.render.sections.section import (
    Columns,
    Grid,
    Section,
    code,
    count,
    explained,
    grids,
    share,
    text,
    time,
)
from rocm_perf.render.sections.shapes import argument_sizes
from rocm_perf.units import format_count, format_list, format_ns, format_share

_DETAILED = 3  # graphs whose order is listed
_NAMES = 3


def _matched_ns(row: Graph) -> int | None:
    """The matched time, where that is some of it and not all."""
    return row.owned_ns if 0 < row.owned_ns < row.gpu_ns else None


_GRAPH_COLUMNS: Columns[Graph] = (
    explained("share", share, lambda row: row.share, "graphs.share"),
    explained("GPU", time, lambda row: row.gpu_ns, "graphs.gpu_ns"),
    explained("launches", count, lambda row: row.launches, "launches of the graph"),
    explained(
        "incomplete", count, lambda row: row.incomplete or None, "replays that lack kernels of the others"
    ),
    explained("kernels", count, lambda row: row.kernels, "kernels of one replay"),
    explained("replay", time, lambda row: row.replay_ns, "graphs.replay_ns"),
    explained("period", time, lambda row: row.period_ns, "graphs.period_ns"),
    explained("matched", time, _matched_ns, "graphs.owned_ns"),
    text("captured as", lambda row: format_list(row.captured, 2) if row.captured else "-"),
    code("launched by", lambda row: row.callers[0].name if row.callers else row.call or "-"),
)
_KERNEL_COLUMNS: Columns[GraphKernel] = (
    explained("place", count, lambda row: row.position, "place of its first dispatch in a replay"),
    explained("share", share, lambda row: row.share, "its time / kernel time of the graph"),
    explained("per replay", time, lambda row: row.replay_ns, "sum of its durations / launches of the graph"),
    explained("calls", count, lambda row: row.dispatches, "dispatches of one replay"),
    code("operator", lambda row: row.operator or "-"),
    code("kernel", lambda row: row.short_name, lambda row: row.kernel),
)


def graphs_section(document: Document, top: int) -> Section:
    """Graphs by kernel time, and the inner order of the first ones."""
    graphs = document.graphs
    return Section(
        "Graphs",
        lines=tuple(_lines(graphs)) if graphs.rows else (),
        grids=(*grids("", graphs.rows, _GRAPH_COLUMNS, top), *_orders(graphs.rows[:_DETAILED])),
        unavailable=graphs.unavailable,
    )


def _lines(graphs: Graphs) -> Iterator[str]:
    launches = format_count(graphs.launches, "graph launch", "graph launches")
    kernels = format_count(graphs.kernels, "kernel")
    share_of_all = format_share(graphs.share)
    yield f"{launches} ran {kernels}: {format_ns(graphs.gpu_ns)}, {share_of_all} of the kernel time."
    if graphs.adoption is None:
        yield (
            "No capture of these graphs is known, so no operator owns their kernels. Record a torch program with "
            "torch.profiler while it captures them, and add that file with --capture (docs/graphs.md)."
        )
        return
    yield from _adoption_lines(graphs, graphs.adoption)


def _adoption_lines(graphs: Graphs, adoption: Adoption) -> Iterator[str]:
    matched = graphs.owned_ns / graphs.gpu_ns if graphs.gpu_ns else 0.0
    yield (
        f"{format_share(matched)} of that time agrees with captured launches "
        f"({adoption.matched_kernels:,} of {format_count(adoption.kernels, 'kernel')}), by {adoption.compared}."
    )
    files = _short_names([use.source for use in adoption.captures])
    for file, use in zip(files, adoption.captures, strict=True):
        names = f" ({format_list(use.names, _NAMES)})" if use.names else ""
        verdict = f"refused: {use.refused}" if use.refused else format_count(use.replays, "replay") + " of it"
        yield f"{file}{names}, {format_count(use.graphs, 'graph')}: {verdict}."
    for reason in adoption.unmatched:
        yield f"{format_count(reason.kernels, 'kernel')} without a captured launch: {reason.reason}."


def _short_names(paths: Sequence[str]) -> list[str]:
    """The files without their folders, where that tells them apart."""
    names = [PurePath(path).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


def _orders(rows: tuple[Graph, ...]) -> Iterator[Grid]:
    for number, row in enumerate(rows, start=1):
        title = (
            f"Graph {number}: the kernels with most time, in their order"
            if len(rows) > 1
            else "In their order"
        )
        yield from grids(title, row.order, (*_KERNEL_COLUMNS, *_telling(row)))


def _telling(graph: Graph) -> Columns[GraphKernel]:
    """The shapes of operators, where kernels with the same short name are told apart by nothing else."""
    names = Counter(kernel.short_name for kernel in graph.order)
    if not any(names[kernel.short_name] > 1 and kernel.shapes for kernel in graph.order):
        return ()
    return (text("shapes", lambda row: argument_sizes(row.shapes) if names[row.short_name] > 1 else ""),)
