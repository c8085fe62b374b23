"""Idle time of the GPUs of all ranks, and waiting of their hosts, from the sums of their contributions."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.ledger.entries import together
from rocm_perf.analysis.reduction.counted import Counts
from rocm_perf.analysis.reduction.tables import Tables
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.gaps import Bin, CallTime, CauseTime, Gap, Gaps, PlaceGaps
from rocm_perf.model.results.ledger import Entry, GpuLedger, Ledger
from rocm_perf.model.results.sync import Sync, Waiting

_NOTHING = Waiting(name="all", calls=0, total_ns=0, useful_ns=0, lost_ns=0)


def gaps(tables: Tables, counts: Counts, nodes: Mapping[int, int], unknown: Gaps) -> Gaps:
    """Idle time of all GPUs. Quantiles and ranges take all gaps at once: they are those of `unknown`."""
    idle_ns = counts.sum("idle_ns")
    rows = tables["causes"].sort("total_ns", descending=True).iter_rows(named=True)
    return replace(
        unknown,
        idle_ns=idle_ns,
        gaps=counts.sum("gaps"),
        causes=tuple(CauseTime(**row, share=row["total_ns"] / idle_ns) for row in rows),
        calls=_calls(tables["idle_calls"].filter(~pl.col("first_use"))),
        first_uses=_calls(tables["idle_calls"].filter(pl.col("first_use"))),
        places=_places(tables["idle_places"], nodes),
        longest_ns=tables["worst_gaps"]["length_ns"].max(),
        histogram=_histogram(tables["gap_lengths"]),
        worst=tuple(
            replace(msgspec.json.decode(gap, type=Gap), node=nodes[machine])
            for gap, machine in tables["worst_gaps"].select("gap", "node").iter_rows()
        ),
        sync_between=_sync_between(counts, unknown.sync_between),
        doubt=counts.fact("idle_doubt"),
        not_attributed=_not_attributed(tables["causes"], counts),
        unavailable=None if counts.sum("gaps") or not counts.fact("no_gaps") else counts.fact("no_gaps"),
    )


def ledgers(tables: Tables, counts: Counts, nodes: Mapping[int, int]) -> Ledger:
    """Return where the time of all GPUs went. What entries consist of is left out."""
    rows = tables["ledger"].sort(
        "node", "agent_id", "total_ns", descending=[False, False, True], nulls_last=True
    )
    gpus = []
    for (machine, agent_id), own in rows.group_by("node", "agent_id", maintain_order=True):
        whole_ns = int(own["total_ns"].sum())
        columns = own.drop("node", "agent_id").iter_rows(named=True)
        entries = [Entry(**row, share=row["total_ns"] / max(whole_ns, 1)) for row in columns]
        gpus.append(GpuLedger(nodes[machine], agent_id, whole_ns, tuple(entries)))
    if not gpus:
        return Ledger(0, (), (), unavailable="no rank recorded a kernel or a copy with times")
    return together(gpus, idle_unknown=counts.fact("idle_doubt"))


def sync(waits: pl.DataFrame, counts: Counts, unknown: Sync) -> Sync:
    """Waiting of the hosts. Its shares of the wall take the calls of all ranks on one clock: they are those of
    `unknown`, and so are threads, of which every rank has its own."""
    return replace(
        unknown,
        total=next(iter(_waiting(waits, "total")), _NOTHING),
        blocking_copies=next(iter(_waiting(waits, "blocking_copies")), _NOTHING),
        scopes=_waiting(waits, "scopes"),
        functions=_waiting(waits, "functions"),
        operators=_waiting(waits, "operators"),
        busy_is=counts.fact("busy_is") or "",
        unavailable=None,
    )


def _calls(rows: pl.DataFrame) -> tuple[CallTime, ...]:
    ordered = rows.sort("total_ns", "call", descending=[True, False]).drop("first_use")
    return tuple(CallTime(**row) for row in ordered.iter_rows(named=True))


def _places(rows: pl.DataFrame, nodes: Mapping[int, int]) -> tuple[PlaceGaps, ...]:
    ordered = rows.sort("level", "node", "agent_id", "queue_id", "stream_id").iter_rows(named=True)
    return tuple(
        PlaceGaps(**{**row, "node": nodes[row["node"]], "causes": msgspec.json.decode(row["causes"])})
        for row in ordered
    )


def _histogram(rows: pl.DataFrame) -> tuple[Bin, ...]:
    return tuple(Bin(**row) for row in rows.sort("from_ns").iter_rows(named=True))


def _sync_between(counts: Counts, unknown: Quantity) -> Quantity:
    known = counts.sum("gaps_with_launch")
    if not known:
        return unavailable("", unknown.formula, "no launch at the end of a gap was recorded")
    return ratio(counts.sum("gaps_with_sync"), known, unknown.formula, "with_sync", "gaps")


def _not_attributed(causes: pl.DataFrame, counts: Counts) -> str | None:
    unknown = int(causes.filter(pl.col("cause") == "nothing_recorded")["gaps"].sum())
    if not unknown:
        return None
    if not counts.sum("rows of api_calls"):
        return "no host calls were recorded"
    return f"the calls that launched what ends {unknown:,} of {counts.sum('gaps'):,} gaps are not in the recordings"


def _waiting(waits: pl.DataFrame, by: str) -> tuple[Waiting, ...]:
    rows = waits.filter(pl.col("by") == by).drop("by").sort("total_ns", "name", descending=[True, False])
    return tuple(Waiting(**row) for row in rows.iter_rows(named=True))
