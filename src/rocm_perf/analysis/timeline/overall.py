"""What concerns the recording as a whole: its phases, and the critical path of the judged part."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.path.critical_path import WORK_KINDS, path_links, path_nodes
from rocm_perf.analysis.phases.focus import focused_rows
from rocm_perf.analysis.timeline.layer import Layer, Meaning, layer
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace

GROUP = "Recording"
_HOST_KINDS = ("api", "op", "return")  # what waits may be on the path with its end alone


class OnPath(NamedTuple):
    """Rows of each table that the critical path runs through."""

    dispatches: pl.Series
    copies: pl.Series
    api_calls: pl.Series
    ops: pl.Series


def phases(document: Document) -> Layer:
    """The phases, and below them the pauses."""
    rows: list[tuple[str, int, int]] = [
        *((row.name, row.start_ns, row.end_ns) for row in document.phases.rows),
        *(("pause", row.start_ns, row.end_ns) for row in document.phases.pauses),
    ]
    schema = {"name": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64}
    slices = pl.DataFrame(rows, schema=schema, orient="row")
    return layer("phases", slices.with_columns(on_path=pl.lit(False)), _titled("phases"))


def path(judged: Trace, offset_ns: int) -> Layer:
    """The critical path, link by link; a wait is named after what was waited for. The judged part begins `offset_ns`
    after the timeline."""
    graph = build(judged)
    links = path_links(graph).with_columns(pl.col("kind").cast(pl.String), pl.col("name").cast(pl.String))
    is_work = pl.col("kind").is_in(WORK_KINDS)
    kind = pl.col("kind").str.replace_all("_", " ")
    slices = links.select(
        kind=kind,
        name=pl.when(is_work).then("name").otherwise(kind),
        until=pl.when(~is_work).then("name"),
        start_ns=pl.col("start_ns") + offset_ns,
        end_ns=pl.col("start_ns") + pl.col("duration_ns") + offset_ns,
    )
    details = {"kind": Meaning("kind"), "until": Meaning("until the start of")}
    return layer("path", slices.with_columns(on_path=pl.lit(True)), _titled("critical path"), details)


def rows_on_path(trace: Trace, judged: Trace) -> OnPath:
    """The rows of the whole recording's tables that the critical path of the judged part runs through."""
    graph = build(judged)
    nodes = graph.nodes.select("kind", "row")[path_nodes(graph)].drop_nulls()
    host_table = "api_calls" if judged.has("api_calls") else "ops"
    kinds = {"dispatches": ("kernel", "collective", "arrival"), "copies": ("copy",), host_table: _HOST_KINDS}
    rows = {table: _rows(trace, judged, table, nodes, kinds.get(table, ())) for table in OnPath._fields}
    return OnPath(**rows)


def _rows(trace: Trace, judged: Trace, table: str, nodes: pl.DataFrame, kinds: tuple[str, ...]) -> pl.Series:
    rows = nodes.filter(pl.col("kind").cast(pl.String).is_in(kinds))["row"].cast(pl.UInt32)
    whole: pl.Series = rows if judged is trace else focused_rows(trace, table).gather(rows)
    return pl.Series(whole.unique().sort())


def _titled(title: str) -> pl.DataFrame:
    return pl.DataFrame({"group": [GROUP], "title": [title]})
