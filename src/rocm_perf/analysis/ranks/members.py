"""Collectives with the ranks that took part in each: by the number that ingest gave them, else by their order."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.clock_domains import with_clocks
from rocm_perf.analysis.basis.passes import timed_dispatches, timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.trace import Trace

_MOST_CUT = 50  # collectives that some ranks have more than others
_GROUP = ["domain", "group"]
_TURN = [*_GROUP, "turn"]
_COLUMNS = ("name", "group", "group_size", "size_bytes", "collective_id", "node", "pid", "who",
            "domain", "error_ns", "start_ns", "end_ns")  # fmt: skip


def who() -> pl.Expr:
    """Who a row belongs to: a rank, or a GPU where ranks are not recorded."""
    gpu = (
        pl.when(pl.col("node") == 0)
        .then(pl.format("GPU {}", "agent_id"))
        .otherwise(pl.format("GPU {} of node {}", "agent_id", "node"))
    )
    return pl.coalesce(pl.format("rank {}", "rank"), gpu).alias("who")


@once_per_trace
def members(trace: Trace) -> pl.DataFrame:
    """One row for each rank and collective of at least two ranks: meeting (its number), who, name, group, group_size,
    size_bytes, node, pid, error_ns (of the clock), start_ns, end_ns. Meetings are numbered in the order of time."""
    rows = with_clocks(_described(trace), trace).with_columns(who()).drop_nulls("who").select(_COLUMNS)
    numbered = rows.drop_nulls("collective_id")
    matched = _by_number(numbered) if numbered.height else _by_order(rows)
    several = _on_one_clock(matched.filter(pl.col("who").n_unique().over("meeting") > 1))
    first = pl.col("start_ns").min().over("meeting")
    return several.with_columns(
        meeting=pl.struct(first.alias("first"), "meeting").rank("dense").cast(pl.Int64) - 1
    ).sort("meeting", "start_ns", "who")


def _on_one_clock(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the clock domain that most ranks share: times of others do not compare with these."""
    domains = (
        rows.group_by("domain").agg(pl.col("who").n_unique()).sort("who", "domain", descending=[True, False])
    )
    return rows.join(domains.head(1), on="domain", how="semi", maintain_order="left")


def _described(trace: Trace) -> pl.DataFrame:
    """Timed collectives; the kernels that communicate where the recorder describes none."""
    rows = trace.table("collectives").filter(
        (pl.col("pass_id") == timed_pass(trace)) & (pl.col("end_ns") >= pl.col("start_ns"))
    )
    if rows.height:
        return rows
    kernels = timed_dispatches(trace)
    kernels = kernels.filter(is_collective(kernels["kernel"])).rename({"kernel": "name"})
    absent = {"group": pl.String, "group_size": pl.Int64, "size_bytes": pl.Int64, "collective_id": pl.Int64}
    return kernels.with_columns(pl.lit(None, kind).alias(name) for name, kind in absent.items())


def _by_number(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of one number and clock are one collective; several rows of a rank in it are one."""
    meeting = pl.struct("domain", "collective_id").rank("dense").cast(pl.Int64).alias("meeting")
    rest = pl.exclude("meeting", "who", "start_ns", "end_ns", "collective_id").first()
    return (
        rows.with_columns(meeting)
        .group_by("meeting", "who", maintain_order=True)
        .agg(rest, pl.col("start_ns").min(), pl.col("end_ns").max())
    )


def _by_order(rows: pl.DataFrame) -> pl.DataFrame:
    """The n-th collective of each rank of a group is one, if all of them were in it at one time."""
    turns = [_turns(group) for group in rows.sort("start_ns").partition_by(_GROUP)]
    if not turns:
        return rows.with_columns(meeting=pl.lit(0, pl.Int64)).drop("collective_id")
    together = pl.col("start_ns").max().over(_TURN) < pl.col("end_ns").min().over(_TURN)
    met = pl.concat(turns).filter(together)
    return met.with_columns(meeting=pl.struct(_TURN).rank("dense").cast(pl.Int64)).drop(
        "collective_id", "turn"
    )


def _turns(group: pl.DataFrame) -> pl.DataFrame:
    """The collectives of a group, each with its `turn`; the shortest recording decides which is the first."""
    lone = group.partition_by("who")
    shortest = min(lone, key=lambda member: member.height)
    aligned = [member.slice(_shift(member, shortest), shortest.height) for member in lone]
    return pl.concat(member.with_columns(pl.int_range(pl.len()).alias("turn")) for member in aligned)


def _shift(member: pl.DataFrame, shortest: pl.DataFrame) -> int:
    """How many collectives of a rank come before the first of the shortest recording: as many as let most of them
    meet. A window may begin or end between the ranks."""

    def meetings(shift: int) -> int:
        other = member.slice(shift, shortest.height)
        begun = other["start_ns"] < shortest["end_ns"]
        return int((begun & (other["end_ns"] > shortest["start_ns"])).sum())

    return max(range(min(member.height - shortest.height, _MOST_CUT) + 1), key=meetings)
