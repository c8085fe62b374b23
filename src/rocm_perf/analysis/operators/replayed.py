"""Operators of graph replays. A graph runs the kernels of the operators that were captured into it, so every replay
counts as a call of each of them, made where the graph was launched. A replay takes no time of the host for them."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around
from rocm_perf.analysis.basis.module_spans import is_module
from rocm_perf.analysis.basis.nested import THREAD, by_category, enclosing, nest
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.operators.frames import is_call_site
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


def with_replays(
    trace: Trace, spans: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame
) -> tuple[pl.DataFrame, Work]:
    """The spans with those of every replay, right behind the span that launched it; and the kernels and copies with
    their rows among them, those of replays owned by captured operators."""
    if not trace.has("captured_ops") or kernels["captured_launch"].null_count() == kernels.height:
        return spans, (kernels, copies)
    captured = _captured(trace)
    placed = kernels.join(
        captured.launches, left_on="captured_launch", right_on="launch_id", how="left", maintain_order="left"
    )
    replays = _replays(placed, spans, captured)
    room = _room(replays, spans.height)
    added = _added(trace, replays.with_columns(_later(replays["around"], room)), captured)
    together = _in_order(pl.concat([_moved_spans(spans, room), added], how="diagonal_relaxed"))
    innermost = itself_or_around(together["parent"], together["category"] == "operator")
    together = together.with_columns(innermost.gather(together["parent"]).alias("operator"))
    return together, (_owned(_moved(placed, room), replays), _moved(copies, room))


@once_per_trace
def _captured(trace: Trace) -> _Captured:
    """Of captured spans, operators, modules and the user's functions that called them: other frames lie between."""
    ops = trace.table("captured_ops").with_row_index("place").sort("captured_graph", maintain_order=True)
    nested = nest(by_category(ops.select("place", *_TRACK, *_SPAN, "start_ns", "end_ns")), _TRACK)
    launches = trace.table("captured_launches").select("launch_id", *_TRACK, time_ns="start_ns")
    around = enclosing(nested, launches, _TRACK)
    parents, is_operator = nested["parent"], nested["category"] == "operator"
    kept = is_operator | is_module(nested) | _callers(nested, around, is_operator)
    row = kept.cum_sum() - kept.cast(pl.UInt32)  # of what is kept
    to_kept = row.gather(itself_or_around(parents, kept))
    ends = pl.concat([row, pl.Series([kept.sum()], dtype=row.dtype)])
    spans = nested.with_columns(
        row=row, parent=to_kept.gather(parents), behind=ends.gather(nested["behind"])
    ).filter(kept)
    owner = row.gather(itself_or_around(parents, is_operator)).gather(around)
    return _Captured(
        spans=spans.select("captured_graph", "row", "parent", "behind", "place", *_SPAN),
        launches=launches.select("launch_id", "captured_graph", own=owner, inside=to_kept.gather(around)),
    )


def _callers(nested: pl.DataFrame, around: pl.Series, is_operator: pl.Series) -> pl.Series:
    """The user's functions that called an operator or made a launch first-hand."""
    site = itself_or_around(nested["parent"], is_call_site(nested))
    callers = pl.concat([site.gather(nested["parent"]).filter(is_operator), site.gather(around)])
    return pl.repeat(False, nested.height, eager=True).scatter(callers.drop_nulls().unique(), True)


def _replays(kernels: pl.DataFrame, spans: pl.DataFrame, captured: _Captured) -> pl.DataFrame:
    """Each replay with its graph, the span that launched it (`around`), the row `at` which its spans go in, how many
    they are (`size`), and the `shift` from their rows in their graph to those among all spans."""
    sizes = captured.spans.group_by("captured_graph").agg(
        pl.len().cast(pl.Int64).alias("size"), pl.col("row").min().cast(pl.Int64).alias("lowest")
    )
    launched = kernels.drop_nulls("captured_graph").select(*_REPLAY, "launch_ns", "launch_tid")
    replays = launched.unique(_REPLAY, maintain_order=True).join(
        sizes, on="captured_graph", maintain_order="left"
    )
    points = replays.select(*THREAD[:-1], tid="launch_tid", time_ns="launch_ns")
    around = enclosing(spans, points).cast(pl.Int64)
    ordered = replays.with_columns(around=around, at=(around + 1).fill_null(spans.height)).sort(
        "at", maintain_order=True
    )
    before = pl.col("size").cum_sum() - pl.col("size")
    return ordered.with_columns((pl.col("at") + before - pl.col("lowest")).alias("shift"))


def _room(replays: pl.DataFrame, rows: int) -> pl.Series:
    """How far each row moves for what goes in before it; a row more, for the end. What no span launched goes behind
    all."""
    inside = replays.drop_nulls("around").group_by("at").agg(pl.col("size").sum())
    sizes = pl.zeros(rows + 1, pl.Int64, eager=True).scatter(inside["at"], inside["size"])
    moves: pl.Series = sizes.cum_sum()
    return moves


def _later(rows: pl.Series, room: pl.Series) -> pl.Series:
    """The rows after they have moved."""
    moved: pl.Series = (rows + room.gather(rows)).cast(pl.UInt32)
    return moved.alias(rows.name)


def _moved_spans(spans: pl.DataFrame, room: pl.Series) -> pl.DataFrame:
    return spans.with_columns(_later(spans[name], room) for name in ("row", "parent", "behind"))


def _in_order(spans: pl.DataFrame) -> pl.DataFrame:
    """The spans each at its row: every row is there once, so nothing has to be sorted."""
    order = np.empty(spans.height, np.uint32)
    order[spans["row"].to_numpy()] = np.arange(spans.height, dtype=np.uint32)
    return spans[order]


def _moved(work: pl.DataFrame, room: pl.Series) -> pl.DataFrame:
    return work.with_columns(_later(work[name], room) for name in _ROWS if name in work.columns)


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
