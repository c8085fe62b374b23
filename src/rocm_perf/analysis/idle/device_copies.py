"""Copies from one place of a GPU's memory to another: what they hold up, who asks for them, and why."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint, union_ns
from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.launched import GPU, THREAD, launched_work, timed_calls
from rocm_perf.analysis.basis.passes import timed_rows
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.copies import CopySite, DeviceCopies
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

_KIND = "D2D"
_SHARE = 0.05  # of the judged time: from here on they are worth a word
_MUCH = 0.2  # of their time before a graph: then they are likely its inputs
_SITES = 3
_LANE = [*GPU, "stream_id"]
_GRAPH_LAUNCH = "GraphLaunch"
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def alone_ns(trace: Trace, kinds: list[str]) -> int:
    """The time of copies of these kinds beside which their GPU runs nothing else, where it is longest."""
    work = launched_work(trace).select(*GPU, "name", "start_ns", "end_ns")
    wanted = named(work["name"], pl.col("name").is_in([f"copy {kind}" for kind in kinds]))
    both, others = (union_ns(part, GPU).select(*GPU, "union_ns") for part in (work, work.filter(~wanted)))
    beside = both.join(others, on=GPU, how="left", nulls_equal=True, suffix="_others")
    alone = beside.select((pl.col("union_ns") - pl.col("union_ns_others").fill_null(0)).max())
    return int(alone.item() or 0)


def device_copies(trace: Trace) -> DeviceCopies | None:
    """None where there are none."""
    work = launched_work(trace)
    ours = named(work["name"], pl.col("name") == f"copy {_KIND}")
    if not ours.any():
        return None
    placed = _placed(trace, work.with_columns(next_is_graph=_next_is_graph(work)).filter(ours))
    copies = placed.with_columns(before_graph=pl.col("next_is_graph") | _graph_follows(trace, placed))
    sites = copies.group_by("site").agg(copies=pl.len().cast(pl.Int64), total_ns=_LENGTH.sum())
    longest = sites.sort("total_ns", "site", descending=[True, False]).head(_SITES)
    return DeviceCopies(
        copies=copies.height,
        total_ns=int(copies.select(_LENGTH.sum()).item()),
        exposed_ns=alone_ns(trace, [_KIND]),
        before_graphs_ns=int(copies.filter("before_graph").select(_LENGTH.sum()).item()),
        sites=tuple(CopySite(**row) for row in longest.iter_rows(named=True)),
    )


def _next_is_graph(work: pl.DataFrame) -> pl.Series:
    """For each row, whether the next kernel of its stream comes from a graph."""
    graphs = named(work["launch_name"], pl.col("name").str.contains(_GRAPH_LAUNCH)).fill_null(False)
    in_streams = work.select(*_LANE, "kind", "start_ns").with_columns(graph=graphs).with_row_index("row")
    following = pl.when(pl.col("kind") == "kernel").then("graph").backward_fill().over(_LANE)
    known = in_streams.sort("start_ns").with_columns(next=following.fill_null(False)).sort("row")
    return known["next"]


def _placed(trace: Trace, copies: pl.DataFrame) -> pl.DataFrame:
    """The copies with the outermost operator around their call, until when, closed_ns, it lasts; "" where none is
    known."""
    operators = timed_rows(trace, "ops").filter(pl.col("category") == "operator")
    spans = operators.select("name", *THREAD, "start_ns", "end_ns").collect()
    outermost = disjoint(spans, THREAD).select(
        *THREAD, site=pl.col("name").cast(pl.String), opened_ns="start_ns", closed_ns="end_ns"
    )
    around = copies.sort("launch_start").join_asof(
        outermost.sort("opened_ns"),
        left_on="launch_start",
        right_on="opened_ns",
        by=THREAD,
        check_sortedness=False,
    )
    inside = pl.col("launch_start") < pl.col("closed_ns")
    return around.with_columns(site=pl.when(inside).then("site").otherwise(pl.lit("")))


def _graph_follows(trace: Trace, copies: pl.DataFrame) -> pl.Series:
    """For each copy, whether the operator around its call launches a graph after it."""
    calls = timed_calls(trace)
    graphs = calls.filter(named(calls["name"], pl.col("name").str.contains(_GRAPH_LAUNCH)))
    following = (
        copies.with_row_index("row")
        .sort("launch_start")
        .join_asof(
            graphs.select(*THREAD, graph_ns="start_ns").sort("graph_ns"),
            left_on="launch_start",
            right_on="graph_ns",
            by=THREAD,
            strategy="forward",
            coalesce=False,
            check_sortedness=False,
        )
    )
    inside = (pl.col("site") != "") & (pl.col("graph_ns") < pl.col("closed_ns"))
    return following.sort("row").select(inside.fill_null(False).alias("graph_follows")).to_series()


def device_copy_findings(document: Document) -> list[Finding]:
    """What copies within a GPU cost, where nothing else runs beside them for long."""
    copies = document.steady_copies.on_gpu
    if copies is None or not document.judged_ns or copies.exposed_ns < _SHARE * document.judged_ns:
        return []
    for_graphs = copies.before_graphs_ns >= _MUCH * copies.total_ns
    return [
        Finding(
            id="device-copies",
            severity="info",
            kind="copies",
            title=f"For {format_share(copies.exposed_ns / document.judged_ns)} of the time a GPU does nothing but copy "
            "within its memory",
            evidence=tuple(_evidence(copies)),
            time_at_stake_ns=copies.exposed_ns,
            remedy=remedy("copying-within-gpu", setting_of(document).with_graphs(for_graphs)),
        )
    ]


def _evidence(copies: DeviceCopies) -> list[str]:
    lines = [
        f"{format_count(copies.copies, 'copy', 'copies')} take {format_ns(copies.total_ns)}, "
        f"{format_ns(copies.exposed_ns)} of it with nothing beside them"
    ]
    lines += [
        f"inside {site.site}: {format_count(site.copies, 'copy', 'copies')}, {format_ns(site.total_ns)}"
        for site in copies.sites
        if site.site
    ]
    if copies.before_graphs_ns:
        lines.append(
            f"{format_ns(copies.before_graphs_ns)} of it before a graph, of the same operator or next in the stream"
        )
    return lines
