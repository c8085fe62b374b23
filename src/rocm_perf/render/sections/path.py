"""The critical path, and what changes to the program would save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity, ratio
from rocm_perf.model.results.path import CriticalPath, EdgeCount, KernelOnPath, Link, Pattern
from rocm_perf.model.results.whatif import Projection
from rocm_perf.render.sections.section import (
    Column,
    Columns,
    Item,
    Section,
    code,
    count,
    explained,
    grids,
    share,
    short_names,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_PATTERN = 12  # links of the pattern that are shown
_SLACK = "slack is the latest start that leaves the end of the run where it is - the recorded start"
NO_PATH = "the recording holds no timed work"

_EDGE_COLUMNS: Columns[EdgeCount] = (
    explained("edges", count, lambda row: row.count, "edges of this kind in the graph of the run"),
    explained(
        "binding",
        count,
        lambda row: row.binding,
        "edges that explain the start of their effect: the last of several causes",
    ),
    text("kind", lambda row: readable(row.kind)),
    text("known", lambda row: row.known),
)


def readable(kind: str) -> str:
    """The kind of a link or an edge, with blanks."""
    return kind.replace("_", " ")


def path_section(document: Document, top: int) -> Section:
    """What the wall time consists of, and how much each kernel matters to it."""
    path = document.path
    if not path.links:
        return Section("Critical path", unavailable="; ".join(path.missing) or NO_PATH)
    name = short_names(document)
    kinds: Columns[tuple[str, int]] = (
        explained("share", share, lambda row: _share_of_path(row[1], path.total_ns)),
        explained("time", time, lambda row: row[1], "sum of the links of this kind on the path"),
        text("on the path", lambda row: readable(row[0])),
    )
    ranks: Columns[tuple[str, int]] = (
        explained("share", share, lambda row: _share_of_path(row[1], path.total_ns)),
        explained("time", time, lambda row: row[1], "sum of the links of this rank on the path"),
        text("on the path", lambda row: row[0]),
    )
    links: Columns[Link] = (
        explained(
            "at", time, lambda row: row.start_ns, "start of the link, from the first start of the recording"
        ),
        explained("length", time, lambda row: row.duration_ns, "length of the link"),
        text("kind", lambda row: readable(row.kind)),
        code("name", lambda row: name(row.name)),
    )
    return Section(
        "Critical path",
        lines=tuple(_path_lines(path)),
        grids=(
            *grids("By kind", sorted(path.by_kind.items(), key=lambda row: -row[1]), kinds),
            *grids("By rank", _several(path.by_rank), ranks, top),
            *grids("By kernel", path.by_kernel, _kernel_columns(document), top),
            *grids("Longest links", path.longest, links, top),
            *grids("Edges of the graph", path.edges, _EDGE_COLUMNS),
        ),
        notes=tuple(f"not recorded: {missing}" for missing in path.missing),
    )


def _several(by_rank: Mapping[str, int]) -> list[tuple[str, int]]:
    """The ranks on the path; none where it has one alone."""
    return list(by_rank.items()) if len(by_rank) > 1 else []


def _kernel_columns(document: Document) -> Columns[KernelOnPath]:
    name, wall = short_names(document), document.path.wall_ns
    return (
        explained("path", share, lambda row: row.critical_path_score, "critical_path_score"),
        explained("time", time, lambda row: row.path_ns, "sum of the links of the kernel on the path"),
        explained("slack min", time, lambda row: row.slack_min_ns, f"least over its dispatches; {_SLACK}"),
        explained("median", time, lambda row: row.slack_median_ns, f"median over its dispatches; {_SLACK}"),
        Column(
            "10 % off saves",
            lambda row: impact(row, wall),
            numeric=True,
            value=lambda row: _impact_share(row, wall),
        ),
        code("kernel", lambda row: name(row.kernel), lambda row: row.kernel),
    )


def _share_of_path(time_ns: int, total_ns: int) -> Quantity:
    return ratio(time_ns, total_ns, "time of these links / total_ns of the path", "time", "total_ns")


def _impact_share(row: KernelOnPath, wall_ns: int) -> Quantity:
    formula = f"impact_ns / wall_ns, {row.impact_basis}: every dispatch of the kernel 10 % shorter"
    return ratio(row.impact_ns, wall_ns, formula, "impact_ns", "wall_ns")


def impact(row: KernelOnPath, wall_ns: int) -> str:
    """The share of the wall that 10 % off every dispatch of the kernel saves."""
    if not row.impact_ns or not wall_ns:
        return "0"
    most = "<=" if row.impact_basis == "at most" else ""
    return f"{most}{share(row.impact_ns / wall_ns)}"


def _path_lines(path: CriticalPath) -> list[str]:
    lines = [
        f"{format_ns(path.total_ns)} of {format_ns(path.wall_ns)} wall in {format_count(path.links, 'link')}."
    ]
    if path.pattern:
        lines.append(_pattern(path.pattern))
    return lines


def _pattern(pattern: Pattern) -> str:
    shown = pattern.links[:_PATTERN]
    links = " > ".join(f"{readable(link.kind)} {format_ns(link.duration_ns)}" for link in shown)
    more = f" and {len(pattern.links) - len(shown)} more links" if len(pattern.links) > len(shown) else ""
    return f"It repeats {pattern.repeats:,} times, {format_ns(pattern.total_ns)} in total: {links}{more}."


def projections_section(document: Document, top: int) -> Section:
    """What each change that was tried on the graph would save, with the assumptions it rests on."""
    changes = [row for row in document.projections if row.saved_ns > 0 and row.speedup.value]
    if not changes:
        tried = "; ".join(change.change for change in document.projections)
        reason = (
            f"would save nothing: {tried}" if tried else "no finding proposes a change that can be re-timed"
        )
        return Section("What a change would save", unavailable=reason)
    shared = _shared(changes)
    own = [
        Item(
            f"{change.change}: {format_ns(change.wall_ns)}, {change.speedup.value:.2f}x",
            tuple(line for line in change.assumptions if line not in shared),
        )
        for change in changes[:top]
    ]
    return Section(
        "What a change would save",
        lines=(_recorded(changes[0]),),
        items=(*own, Item("All of these assume", tuple(shared))) if shared else tuple(own),
    )


def _recorded(change: Projection) -> str:
    profilers = f", {format_ns(change.profiler_ns)} of it the profiler's" if change.profiler_ns else ""
    return f"Recorded: {format_ns(change.recorded_wall_ns)} wall{profilers}."


def _shared(changes: Sequence[Projection]) -> list[str]:
    """The assumptions that every change makes, to list them once."""
    if len(changes) == 1:
        return []
    first = changes[0].assumptions
    return [line for line in first if all(line in change.assumptions for change in changes)]
