"""An execution with what its captures know: every kernel of a replay that agrees with a captured launch points to it,
and through it to the operators and Python functions that were open when the launch was captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import polars as pl

from rocm_perf.ingest.captures.account import account
from rocm_perf.ingest.captures.captured_tables import captured_tables
from rocm_perf.ingest.captures.choosing import Candidates, chosen_graphs
from rocm_perf.ingest.captures.sequences import CapturedGraph, Sequences, sequences
from rocm_perf.model.column_kinds import GEOMETRY
from rocm_perf.model.trace import Trace

_SIZES = [column.name for column in GEOMETRY]


def adopt(execution: Trace, captures: Sequence[Trace]) -> Trace:
    """The execution, its replayed kernels linked with what was captured. Without replays or captures it is unchanged;
    its RunInfo says what was matched and why the rest was not."""
    compared = sequences(execution, captures)
    if not compared.replays or not compared.graphs:
        return execution
    candidates = Candidates(compared.graphs, execution)
    chosen = _chosen(compared, candidates)
    adoption = account(compared, chosen, candidates, captures)
    described = execution.described(msgspec.structs.replace(execution.run, adoption=adoption))
    used = sorted({graph for graph in chosen if graph}, key=lambda graph: (graph.capture, graph.rows[0]))
    if not used:
        return described
    tables = captured_tables(captures, used)
    links = _links(compared, chosen, candidates, _first_launches(used))
    tables["dispatches"] = _linked(execution.table("dispatches"), links, tables["captured_launches"])
    return Trace({**{name: execution.table(name) for name in execution}, **tables}, described.run)


def _chosen(compared: Sequences, candidates: Candidates) -> list[CapturedGraph | None]:
    """The graph of each replay, process by process."""
    processes: dict[object, list[int]] = {}
    for index, replay in enumerate(compared.replays):
        processes.setdefault((replay.rank, replay.pid), []).append(index)
    chosen: list[CapturedGraph | None] = [None] * len(compared.replays)
    for members in processes.values():
        of_process = [compared.replays[index] for index in members]
        for index, graph in zip(members, chosen_graphs(of_process, compared.graphs, candidates), strict=True):
            chosen[index] = graph
    return chosen


def _first_launches(used: Sequence[CapturedGraph]) -> dict[CapturedGraph, int]:
    """The number of the first launch of each graph, as captured_tables counts them."""
    counts = pl.Series([len(graph.rows) for graph in used])
    return dict(zip(used, (counts.cum_sum() - counts + 1).to_list(), strict=True))


def _links(
    compared: Sequences,
    chosen: Sequence[CapturedGraph | None],
    candidates: Candidates,
    first_launches: Mapping[CapturedGraph, int],
) -> pl.DataFrame:
    """Rows of dispatches, and the launch that each replays."""
    rows: list[int] = []
    launches: list[int | None] = []
    for replay, graph in zip(compared.replays, chosen, strict=True):
        if graph is not None:
            first = first_launches[graph]
            where = candidates.alike(replay)[graph]
            rows.extend(replay.rows)
            launches.extend(None if place is None else first + place for place in where)
    frame = pl.DataFrame({"row": rows, "launch_id": launches}, {"row": pl.UInt32, "launch_id": pl.Int64})
    return frame.drop_nulls()


def _linked(dispatches: pl.DataFrame, links: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """The dispatches with their captured launches, and the sizes of these where the recording has none."""
    sized = links.join(launches.select("launch_id", *_SIZES), on="launch_id", how="left")
    placed = dispatches.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("row")).join(
        sized, on="row", how="left", maintain_order="left"
    )
    return dispatches.with_columns(
        placed["launch_id"].alias("captured_launch"),
        *(pl.coalesce(pl.col(size), placed[size]).alias(size) for size in _SIZES),
    )
