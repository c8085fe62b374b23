"""The tables of several ranks on one clock: collectives are numbered, clocks fitted, and all times moved.

Until here every node has a clock of its own; `nodes` are therefore what is fitted and moved. Only the timed pass takes
part: passes for counters are runs of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rocm_perf.ingest.ranks.clocks import NodeClock, node_clocks
from rocm_perf.ingest.ranks.members import with_tokens
from rocm_perf.ingest.ranks.numbering import numbered
from rocm_perf.ingest.ranks.solving import WITHIN
from rocm_perf.model import schema
from rocm_perf.model.clock_shift import UNMOVED, moved_by_node

Tables = dict[str, pl.DataFrame]

_PROCESS = ["node", "rank", "pass_id", "pid"]
_OF_PROCESSES = ("dispatches", "collectives", "api_calls", "copies")
_TIMED_PASS = 0
_TOUCHING_NS = 20_000  # ranks whose spans miss each other by less may still have met
_LAST = 1 << 40  # where a rank or process id is unknown


def on_common_clocks(tables: Tables, kinds: Mapping[int, str]) -> Tables:
    """The tables with collectives numbered and times moved onto the clock of the lowest rank, as far as the ends of
    their collectives allow it, and the table `clocks`. `kinds`: the kind of clock of each node. One process alone, or
    several without ranks, are left as they are."""
    processes = _processes(tables)
    if processes.height < 2 or processes["rank"].null_count() == processes.height:
        return tables
    collectives = with_tokens(_in_timed_pass(tables.get("collectives", schema.empty("collectives"))))
    turns = collectives.join(numbered(collectives, kinds), on="row", maintain_order="left")
    clocks = node_clocks(turns, _order(processes))
    on_clocks = _on_clocks(turns, clocks)
    moved = {name: _moved(name, frame, clocks) for name, frame in tables.items()}
    if "collectives" in moved:
        moved["collectives"] = _with_ids(moved["collectives"], _met(on_clocks))
    return {**moved, "clocks": _clock_table(processes, on_clocks, clocks)}


def _in_timed_pass(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(row=pl.int_range(pl.len())).filter(pass_id=_TIMED_PASS)


def _processes(tables: Tables) -> pl.DataFrame:
    """Every process of the timed pass that recorded work."""
    frames = [tables[name].select(_PROCESS).unique() for name in _OF_PROCESSES if name in tables]
    none = schema.empty("processes").select(_PROCESS)
    processes = pl.concat([none, *frames]).filter(pass_id=_TIMED_PASS)
    return processes.unique().sort(_PROCESS, nulls_last=True)


def _order(processes: pl.DataFrame) -> dict[int, int]:
    """The nodes by their lowest rank."""
    lowest = [pl.col(name).cast(pl.Int64).fill_null(_LAST).min() for name in ("rank", "pid")]
    nodes = processes.group_by("node").agg(lowest).sort("rank", "pid", "node")
    return {node: place for place, node in enumerate(nodes["node"])}


def _moved(name: str, frame: pl.DataFrame, clocks: Mapping[int, NodeClock]) -> pl.DataFrame:
    """The table with the times of each node on the clock of its domain."""
    if "node" not in frame.columns or all(clock.shift == UNMOVED for clock in clocks.values()):
        return frame
    timed = frame["pass_id"] == _TIMED_PASS if "pass_id" in frame.columns else None
    return moved_by_node(name, frame, {node: clock.shift for node, clock in clocks.items()}, timed)


def _on_clocks(turns: pl.DataFrame, clocks: Mapping[int, NodeClock]) -> pl.DataFrame:
    """The numbered collectives on the clocks of their domains, and whether the fit of their node rests on them."""
    domains = {node: clock.domain for node, clock in clocks.items()}
    used = pl.DataFrame(
        [(node, turn) for node, clock in clocks.items() for turn in clock.turns],
        schema={"node": pl.Int32, "turn_id": pl.Int64},
        orient="row",
    ).with_columns(used=pl.lit(True))
    moved = _moved("collectives", turns, clocks)
    placed = moved.with_columns(
        pl.col("node").replace_strict(domains, return_dtype=pl.Int64).alias("domain")
    ).join(used, on=["node", "turn_id"], how="left", maintain_order="left")
    return placed.with_columns(pl.col("used").fill_null(False))


def _met(on_clocks: pl.DataFrame) -> pl.DataFrame:
    """`row` and `collective_id` of collectives in which all ranks of a domain were at one time. Where they were not,
    a record was lost in between, and the turns after it are not those of the others."""
    turn = ["domain", "turn_id"]
    at_once = pl.col("start_ns").max().over(turn) <= pl.col("end_ns").min().over(turn) + _TOUCHING_NS
    met = on_clocks.filter((at_once | ~pl.col("together")) & (pl.len().over(turn) > 1))
    first = met.group_by(turn).agg(pl.col("end_ns").min()).sort("end_ns", *turn)
    ids = first.select(*turn, pl.int_range(pl.len()).alias("collective_id"))
    return met.select("row", *turn).join(ids, on=turn).select("row", "collective_id")


def _with_ids(collectives: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    rows = collectives.drop("collective_id").with_columns(row=pl.int_range(pl.len()))
    return rows.join(ids, on="row", how="left", maintain_order="left").select(collectives.columns)


def _clock_table(
    processes: pl.DataFrame, on_clocks: pl.DataFrame, clocks: Mapping[int, NodeClock]
) -> pl.DataFrame:
    """One row per process: where its clock belongs, and what the ends of its collectives still differ by."""
    nodes = pl.DataFrame([{"node": node, **_described(clock)} for node, clock in clocks.items()])
    unmoved = [node for node, clock in clocks.items() if clock.shift == UNMOVED]
    shared = (pl.len().over("node") > 1) & pl.col("node").is_in(unmoved)
    basis = pl.when(shared).then(pl.lit("shared")).otherwise(pl.lit("collectives"))
    rows = processes.join(
        nodes.cast({"node": pl.Int32, "reason": pl.String}), on="node", maintain_order="left"
    )
    rows = rows.join(
        _errors(on_clocks), on=["node", "rank", "pid"], how="left", nulls_equal=True, maintain_order="left"
    )
    return schema.conform(
        "clocks", rows.with_columns(pl.when(pl.col("reason").is_null()).then(basis).alias("basis"))
    )


def _errors(on_clocks: pl.DataFrame) -> pl.DataFrame:
    """By how much the ends of each process differ from the median of all, for 95 % of the collectives that count."""
    middle = pl.col("end_ns").median().over("domain", "turn_id")
    off = on_clocks.with_columns((pl.col("end_ns") - middle).abs().alias("off")).filter("used")
    return off.group_by("node", "rank", "pid").agg(
        pl.col("off").quantile(WITHIN).alias("error_ns"), pl.len().cast(pl.Int64).alias("collectives")
    )


def _described(clock: NodeClock) -> dict[str, object]:
    return {
        "domain": clock.domain,
        "offset_ns": float(clock.shift.offset_ns),
        "drift_ppm": clock.shift.drift_ppm,
        "reason": clock.reason,
    }
