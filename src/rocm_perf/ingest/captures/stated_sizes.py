"""Batch sizes that programs state in the names of ranges: `capture_32_DECODE` around a capture, `step[DECODE bs=32]` or
`execute_32_...` around a replay."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.model.trace import Trace

_PROCESS = ["node", "rank", "pass_id", "pid"]
_COLUMNS = {"name": pl.String, "size": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}
# capture_32_FULL, execute_32_context_..., bs=32, batch_size 32, num_tokens=32
_SIZE = r"(?i)(?:^|[^a-z])(?:capture|execute|bs|batch(?:_?size)?|num_tokens)[=_ :]+(\d+)"
# execute_context_9(8155)_generation_37(37): requests, and their tokens in brackets
_TOKENS = r"context_\d+\((?:sq)?(\d+)[^)]*\)_generation_\d+\((?:sq)?(\d+)[^)]*\)"


def stated_sizes(trace: Trace, moments: pl.DataFrame) -> pl.DataFrame:
    """For each moment (node, rank, pass_id, pid, time_ns) the innermost range around it that states a size: its name,
    size, start_ns and end_ns; null where there is none."""
    ranges = _stating(trace)
    nothing = {column: pl.lit(None, dtype) for column, dtype in _COLUMNS.items()}
    innermost = moments.with_columns(**nothing).select(list(nothing))
    for depth in ranges["depth"].unique().sort(descending=True):
        around = _around(moments, ranges.filter(pl.col("depth") == depth))
        innermost = innermost.select(pl.coalesce(pl.col(name), around[name]).alias(name) for name in _COLUMNS)
    return innermost


def _stating(trace: Trace) -> pl.DataFrame:
    """The ranges of the host whose names state a size."""
    name = pl.col("name")
    tokens = pl.sum_horizontal(
        (name.str.extract(_TOKENS, group).cast(pl.Int64, strict=False) for group in (1, 2)),
        ignore_nulls=False,
    )
    size = pl.coalesce(name.str.extract(_SIZE).cast(pl.Int64, strict=False), tokens)
    ranges = trace.table("ranges").filter(~pl.col("on_gpu") & pl.col("end_ns").is_not_null())
    return ranges.select(*_PROCESS, "name", "start_ns", "end_ns", "depth", size=size).drop_nulls("size")


def _around(moments: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """The range of one depth that is open at each moment."""
    starts = ranges.sort("start_ns").with_columns(time_ns=pl.col("start_ns"))
    processes = [name for name in _PROCESS if starts[name].n_unique() > 1]
    placed = (
        moments.with_row_index("place")
        .sort("time_ns")
        .join_asof(starts, on="time_ns", by=processes or None, strategy="backward", check_sortedness=False)
        .sort("place")
    )
    is_open = pl.col("time_ns") < pl.col("end_ns")
    return placed.select(pl.when(is_open).then(pl.col(column)).alias(column) for column in _COLUMNS)


def seen_sizes(trace: Trace, start_ns: int, end_ns: int) -> set[int]:
    """The first extents of all tensors that operators handled in a time: where a graph is padded to a size, what goes
    into it or comes out of it has that size."""
    in_time = pl.col("start_ns").is_between(start_ns, end_ns) & pl.col("shapes").is_not_null()
    shapes = trace.table("ops").filter(in_time)["shapes"].unique()
    return {
        shape[0]
        for text in shapes
        for shape in _decoded(text)
        if isinstance(shape, list) and shape and isinstance(shape[0], int)
    }


def _decoded(text: str) -> list[object]:
    try:
        return msgspec.json.decode(text, type=list[object])
    except msgspec.MsgspecError:
        return []
