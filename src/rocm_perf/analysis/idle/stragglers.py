"""Which rank the others wait for: collectives of one clock, matched by their order in each rank."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.passes import timed_dispatches, timed_pass
from rocm_perf.analysis.time.families import is_collective
from rocm_perf.model.results.communication import RankWait, Straggler
from rocm_perf.model.trace import Trace

_FEWEST = 5  # collectives: with fewer, being last may be chance
_NEARLY_ALWAYS = 0.8  # of the time that others wait is for one rank
_MOST_CUT = 50  # collectives that some ranks have more than others
_COLUMNS = ("node", "group", "who", "start_ns", "end_ns")
_GROUP = ["node", "group"]
_TURN = [*_GROUP, "turn"]


def straggler(trace: Trace) -> Straggler | None:
    """The rank that the others wait for nearly always; None where there is none, or nothing to compare."""
    met = _met(_collectives(trace))
    if met.select(_TURN).n_unique() < _FEWEST:
        return None
    waits = met.with_columns((pl.col("start_ns").max().over(_TURN) - pl.col("start_ns")).alias("waited"))
    last = waits.filter(pl.col("waited") == 0).select(*_TURN, pl.col("who").alias("last"))
    lost = waits.join(last.unique(_TURN), on=_TURN, nulls_equal=True)
    by_last = lost.group_by("last").agg(pl.col("waited").sum()).sort("waited", descending=True)
    name, most = by_last.row(0)
    if not most or most < _NEARLY_ALWAYS * int(by_last["waited"].sum()):
        return None
    return _named(name, waits, last)


def _collectives(trace: Trace) -> pl.DataFrame:
    """Timed collectives with who took part: a rank, or a GPU; from the kernels where the recorder describes none."""
    described = trace.table("collectives").filter(
        (pl.col("pass_id") == (timed_pass(trace) or 0)) & (pl.col("end_ns") >= pl.col("start_ns"))
    )
    if not described.height:
        kernels = timed_dispatches(trace)
        described = kernels.filter(is_collective(kernels["kernel"])).with_columns(
            pl.lit(None, pl.String).alias("group")
        )
    who = pl.coalesce(pl.format("rank {}", "rank"), pl.format("GPU {}", "agent_id"))
    return described.with_columns(who.alias("who")).drop_nulls("who").select(_COLUMNS)


def _met(collectives: pl.DataFrame) -> pl.DataFrame:
    """Collectives that all ranks of a group were in at one time, with their `turn`."""
    turns = [_turns(group) for group in collectives.sort("start_ns").partition_by(_GROUP)]
    if not turns:
        return collectives.with_columns(pl.lit(0, pl.Int64).alias("turn"))
    together = pl.col("start_ns").max().over(_TURN) < pl.col("end_ns").min().over(_TURN)
    return pl.concat(turns).filter(together & (pl.len().over(_TURN) > 1))


def _turns(group: pl.DataFrame) -> pl.DataFrame:
    """The collectives of a group, those of the same turn being one: the n-th of each rank."""
    members = group.partition_by("who")
    shortest = min(members, key=lambda member: member.height)
    aligned = [member.slice(_shift(member, shortest), shortest.height) for member in members]
    return pl.concat(member.with_columns(pl.int_range(pl.len()).alias("turn")) for member in aligned)


def _shift(member: pl.DataFrame, shortest: pl.DataFrame) -> int:
    """How many collectives of a rank come before the first of the shortest recording: as many as let most of them
    meet. A window may begin or end between the ranks."""

    def meetings(shift: int) -> int:
        other = member.slice(shift, shortest.height)
        begun = other["start_ns"] < shortest["end_ns"]
        return int((begun & (other["end_ns"] > shortest["start_ns"])).sum())

    return max(range(min(member.height - shortest.height, _MOST_CUT) + 1), key=meetings)


def _named(name: str, waits: pl.DataFrame, last: pl.DataFrame) -> Straggler:
    others = waits.filter(pl.col("who") != name).group_by("who").agg(pl.col("waited").sum())
    rows = others.sort("waited", "who", descending=[True, False]).iter_rows()
    together = pl.col("end_ns").min() - pl.col("start_ns").max()
    return Straggler(
        rank=name,
        last_in=last.filter(pl.col("last") == name).height,
        collectives=last.select(_TURN).n_unique(),
        together_ns=int(waits.group_by(_TURN).agg(together.alias("ns"))["ns"].sum()),
        waits=tuple(RankWait(rank=who, waited_ns=waited) for who, waited in rows),
    )
