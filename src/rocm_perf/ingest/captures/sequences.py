"""Replays and captured graphs as sequences of numbers: equal numbers are kernels of one name and, where both sides say
it, one size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import polars as pl

from rocm_perf.ingest.captures.stated_sizes import stated_sizes
from rocm_perf.model.trace import Trace

PROCESS = ["node", "rank", "pass_id", "pid"]
_GRID = [f"{size}_{axis}" for size in ("grid", "workgroup") for axis in "xyz"]
_LAUNCH = ["kernel", *_GRID]
BY_NAME = "kernel name and place in the sequence (no size of replayed kernels is recorded)"
BY_SIZE = "kernel name, grid, workgroup and place in the sequence"


class Stated(NamedTuple):
    """The range around a launch or a capture that states a batch size; all None where there is none."""

    name: str | None
    size: int | None
    start_ns: int | None
    end_ns: int | None


class Replay(msgspec.Struct, frozen=True, eq=False):
    """One launch of a graph: the kernels that it ran, and their rows in the table of dispatches, stream after stream.
    Streams run side by side, so only the order within one is that of the graph."""

    kernels: tuple[int, ...]
    rows: tuple[int, ...]
    streams: tuple[int, ...]  # how many of the kernels each stream ran
    rank: int | None
    pid: int | None
    step: Stated


class CapturedGraph(msgspec.Struct, frozen=True, eq=False):
    """One graph of a capture: what was launched into it, as numbers of kernels and as rows of captured_launches."""

    capture: int  # which of the recordings
    number: int  # in that recording
    kernels: tuple[int, ...]
    rows: tuple[int, ...]
    rank: int | None
    whole: bool
    named: bool  # every launch says which kernel it is
    capture_range: Stated

    @property
    def size(self) -> int | None:
        """The batch size that it was captured for, where that is stated."""
        return self.capture_range.size


class Sequences(msgspec.Struct, frozen=True):
    """Everything that is compared, and what of it has to agree."""

    replays: tuple[Replay, ...]
    graphs: tuple[CapturedGraph, ...]
    compared: str


def sequences(execution: Trace, captures: Sequence[Trace]) -> Sequences:
    """The replays of an execution in the order in which they ran, and the graphs of all captures in theirs."""
    replayed = _replayed(execution)
    launched = [_launched(capture) for capture in captures]
    sized = _are_sized([replayed, *launched])
    numbers = _numbers([replayed, *launched], _LAUNCH if sized else ["kernel"])
    graphs = [
        graph
        for place, (capture, frame) in enumerate(zip(captures, launched, strict=True))
        for graph in _graphs(place, capture, frame.with_columns(numbers[place + 1]))
    ]
    return Sequences(
        replays=_replays(execution, replayed.with_columns(numbers[0])),
        graphs=tuple(graphs),
        compared=BY_SIZE if sized else BY_NAME,
    )


def _replayed(execution: Trace) -> pl.DataFrame:
    """Kernels that graphs ran, with their rows, in the order of their starts."""
    dispatches = execution.table("dispatches").with_row_index("row")
    in_graph = pl.col("graph_id").is_not_null() & pl.col("correlation_id").is_not_null()
    columns = ("row", *PROCESS, "stream_id", "correlation_id", "start_ns", *_LAUNCH)
    return dispatches.filter(in_graph).select(columns).sort("start_ns", "row")


def _launched(capture: Trace) -> pl.DataFrame:
    """Captured launches, with their rows, in the order in which they were made."""
    launches = capture.table("captured_launches").with_row_index("row")
    return launches.select("row", *PROCESS, "captured_graph", "start_ns", *_LAUNCH).sort("start_ns", "row")


def _are_sized(frames: list[pl.DataFrame]) -> bool:
    return all(not frame.select(pl.col(_GRID).is_null().any()).row(0).count(True) for frame in frames)


def _numbers(frames: list[pl.DataFrame], columns: list[str]) -> list[pl.Series]:
    """For each row of each frame the number of its kernel, the same for equal values of the columns."""
    every = pl.concat([frame.select(columns) for frame in frames])
    distinct = every.unique(maintain_order=True).with_row_index("number")
    found = every.join(distinct, on=columns, how="left", nulls_equal=True, maintain_order="left")["number"]
    parts = []
    for frame in frames:
        parts.append(found[: frame.height])
        found = found[frame.height :]
    return parts


def _replays(execution: Trace, kernels: pl.DataFrame) -> tuple[Replay, ...]:
    key = [*PROCESS, "correlation_id"]
    table = kernels.group_by(key, maintain_order=True).agg(
        pl.col("number", "row").sort_by("stream_id", maintain_order=True),
        pl.col("start_ns").first(),
        pl.col("stream_id").sort().rle().struct.field("len").alias("streams"),
    )
    stated = stated_sizes(execution, _launch_times(execution, table))
    return tuple(
        Replay(
            kernels=tuple(row["number"]),
            rows=tuple(row["row"]),
            streams=tuple(row["streams"]),
            rank=row["rank"],
            pid=row["pid"],
            step=Stated(*step),
        )
        for row, step in zip(table.iter_rows(named=True), stated.iter_rows(), strict=True)
    )


def _launch_times(execution: Trace, replays: pl.DataFrame) -> pl.DataFrame:
    """When the host launched each replay; where that is not recorded, when it began."""
    key = [*PROCESS, "correlation_id"]
    ids = replays["correlation_id"].unique()
    calls = execution.table("api_calls").filter(pl.col("correlation_id").is_in(ids.implode()))
    launched = calls.group_by(key).agg(pl.col("start_ns").min().alias("time_ns"))
    joined = replays.join(launched, on=key, how="left", nulls_equal=True, maintain_order="left")
    return joined.select(*PROCESS, pl.coalesce("time_ns", "start_ns").alias("time_ns"))


def _graphs(place: int, capture: Trace, launches: pl.DataFrame) -> list[CapturedGraph]:
    key = [*PROCESS, "captured_graph"]
    table = launches.group_by(key, maintain_order=True).agg(
        "number",
        "row",
        pl.col("start_ns").first().alias("time_ns"),
        pl.col("kernel").is_not_null().all().alias("named"),
    )
    whole = capture.table("captured_graphs").select(*key, "whole")
    table = table.join(whole, on=key, how="left", nulls_equal=True, maintain_order="left")
    stated = stated_sizes(capture, table.select(*PROCESS, "time_ns"))
    return [
        CapturedGraph(
            capture=place,
            number=row["captured_graph"],
            kernels=tuple(row["number"]),
            rows=tuple(row["row"]),
            rank=row["rank"],
            whole=bool(row["whole"]),
            named=row["named"],
            capture_range=Stated(*around),
        )
        for row, around in zip(table.iter_rows(named=True), stated.iter_rows(), strict=True)
    ]
