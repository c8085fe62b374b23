"""Operators of graph replays. A graph runs the kernels of the operators that were captured into it, so every replay
counts as a call of each of them, made where the graph was launched. A replay takes no time of the host for them."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around
from rocm_perf.analysis.basis.nested import THREAD, by_category, enclosing, nest
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.operators.frames import is_call_site, is_looked_at
from rocm_perf.analysis.operators.kept_rows import KeptRows, kept_rows
from rocm_perf.model.trace import Trace

BY_CAPTURE = "the operator that launched it when its graph was captured"

_TRACK = ["captured_graph", *THREAD]
_REPLAY = [*THREAD[:-1], "correlation_id", "captured_graph"]
_SPAN = ["category", "name", "op_id"]
_ROWS = ("owner", "within")  # columns of GPU work that hold rows of spans

Work = tuple[pl.DataFrame, pl.DataFrame]


class _Captured(msgspec.Struct, frozen=True):
    """What one replay of each graph adds: `spans`, with rows that count on from graph to graph, and `launches` with the
    rows that own them and that they were made within."""

    spans: pl.DataFrame
    launches: pl.DataFrame


def with_sites(nested: pl.DataFrame) -> pl.DataFrame:
    """The spans with `site`: the innermost of the user's functions around each, or itself."""
    site = itself_or_around(nested["parent"], is_call_site(nested))
    return nested.with_columns(nested["name"].gather(site).alias("site"))


def with_replays(
    trace: Trace, nested: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame
) -> tuple[pl.DataFrame, Work]:
    """The spans that are looked at with those of every replay, right behind the span that launched it; and the kernels
    and copies with their rows among them, those of replays owned by captured operators."""
    recorded = kept_rows(nested["parent"], is_looked_at(nested))
    if not trace.has("captured_ops") or kernels["captured_launch"].null_count() == kernels.height:
        return recorded.spans(nested), (_moved(kernels, recorded), _moved(copies, recorded))
    captured = _captured(trace)
    placed = kernels.join(
        captured.launches, left_on="captured_launch", right_on="launch_id", how="left", maintain_order="left"
    )
    replays = _replays(placed, nested, captured, recorded)
    moved = recorded.later(_room(replays, nested.height))
    around = {"around": moved.of(replays["around"]), "site": nested["site"].gather(replays["around"])}
    added = _added(trace, replays.with_columns(**around), captured)
    together = _in_order(pl.concat([moved.spans(nested), added], how="diagonal_relaxed"))
    return together, (_owned(_moved(placed, moved), replays), _moved(copies, moved))


@once_per_trace
def _captured(trace: Trace) -> _Captured:
    ops = trace.table("captured_ops").with_row_index("place").sort("captured_graph", maintain_order=True)
    nested = with_sites(nest(by_category(ops.select("place", *_TRACK, *_SPAN, "start_ns", "end_ns")), _TRACK))
    launches = trace.table("captured_launches").select("launch_id", *_TRACK, time_ns="start_ns")
    around = enclosing(nested, launches, _TRACK)
    rows = kept_rows(nested["parent"], is_looked_at(nested))
    operator = itself_or_around(nested["parent"], nested["category"] == "operator")
    return _Captured(
        spans=rows.spans(nested).select("captured_graph", "row", "parent", "behind", "place", "site", *_SPAN),
        launches=launches.select(
            "launch_id", "captured_graph", own=rows.of(operator.gather(around)), inside=rows.of(around)
        ),
    )


def _replays(
    kernels: pl.DataFrame, nested: pl.DataFrame, captured: _Captured, recorded: KeptRows
) -> pl.DataFrame:
    """Each replay with its graph, the span that launched it (`around`), the row `at` which its spans go in, how many
    they are (`size`), and the `shift` from their rows in their graph to those among all that is kept."""
    sizes = captured.spans.group_by("captured_graph").agg(
        pl.len().cast(pl.Int64).alias("size"), pl.col("row").min().cast(pl.Int64).alias("lowest")
    )
    launched = kernels.drop_nulls("captured_graph").select(*_REPLAY, "launch_ns", "launch_tid")
    replays = launched.unique(_REPLAY, maintain_order=True).join(
        sizes, on="captured_graph", maintain_order="left"
    )
    points = replays.select(*THREAD[:-1], tid="launch_tid", time_ns="launch_ns")
    around = enclosing(nested, points).cast(pl.Int64)
    ordered = replays.with_columns(around=around, at=(around + 1).fill_null(nested.height)).sort(
        "at", maintain_order=True
    )
    before = pl.col("size").cum_sum() - pl.col("size")
    return ordered.with_columns(shift=recorded.numbers.gather(ordered["at"]) + before - pl.col("lowest"))


def _room(replays: pl.DataFrame, rows: int) -> pl.Series:
    """How far each row moves for what goes in before it; a row more, for the end. What no span launched goes behind
    all."""
    inside = replays.drop_nulls("around").group_by("at").agg(pl.col("size").sum())
    sizes = pl.zeros(rows + 1, pl.Int64, eager=True).scatter(inside["at"], inside["size"])
    moves: pl.Series = sizes.cum_sum()
    return moves


def _in_order(spans: pl.DataFrame) -> pl.DataFrame:
    """The spans each at its row: every row is there once, so nothing has to be sorted."""
    order = np.empty(spans.height, np.uint32)
    order[spans["row"].to_numpy()] = np.arange(spans.height, dtype=np.uint32)
    return spans[order]


def _moved(work: pl.DataFrame, rows: KeptRows) -> pl.DataFrame:
    return work.with_columns(rows.of(work[name]) for name in _ROWS if name in work.columns)


def _added(trace: Trace, replays: pl.DataFrame, captured: _Captured) -> pl.DataFrame:
    """The spans of all replays, each at the instant of its launch; `place` counts on from ops to captured_ops."""
    spans = replays.join(captured.spans, on="captured_graph", maintain_order="left_right")
    shift = pl.col("shift")
    return spans.select(
        *THREAD[:-1],
        *_SPAN,
        tid="launch_tid",
        start_ns="launch_ns",
        end_ns="launch_ns",
        place=pl.col("place").cast(pl.Int64) + trace.rows("ops"),
        row=(pl.col("row") + shift).cast(pl.UInt32),
        parent=pl.coalesce((pl.col("parent") + shift).cast(pl.UInt32), "around"),
        site=pl.coalesce("site_right", "site"),
        behind=(pl.col("behind") + shift).cast(pl.UInt32),
    )


def _owned(kernels: pl.DataFrame, replays: pl.DataFrame) -> pl.DataFrame:
    """The kernels, those of replays with the rows of their captured spans."""
    shift = kernels.join(
        replays.select(*_REPLAY, "shift"), on=_REPLAY, how="left", nulls_equal=True, maintain_order="left"
    )["shift"]
    own = (kernels["own"] + shift).cast(pl.UInt32)
    inside = (kernels["inside"] + shift).cast(pl.UInt32)
    rows = {"owner": own, "within": inside}
    known = pl.when(own.is_not_null()).then(pl.lit(BY_CAPTURE)).otherwise("known").alias("known")
    return kernels.with_columns(
        known,
        *(pl.coalesce(rows[name], pl.col(name)).alias(name) for name in _ROWS if name in kernels.columns),
    ).drop("own", "inside", "captured_graph")
