"""What it is worth to make late ranks as fast as the others: the run re-timed, and the what-if that says so."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.path.rank_changes import FasterLink, ScaledHost, ScaledKernels
from rocm_perf.analysis.path.unprofiled import unprofiled
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.ranks.arrivals import arrivals, classified
from rocm_perf.analysis.ranks.over_time import totals
from rocm_perf.errors import UsageError
from rocm_perf.model.results.ranks import Cause
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.trace import Trace

_LEAST = (
    0.01  # of what a rank's host or kernels take now: a factor of 0 is not a number that anyone can reach
)


def repaired(
    trace: Trace, cause: Cause | None, delays: Sequence[tuple[str, float]]
) -> tuple[Projection | None, str]:
    """The projection with the ranks, which delay the others by so much each, as fast as these, and the options of
    `whatif` for it; none where the recording cannot tell."""
    graph = unprofiled(trace)
    changed = delays[:1] if cause == "slow link" else delays  # one link, whoever is behind it
    changes = [change for who, delayed in changed for change in _change(trace, graph, cause, who, delayed)]
    if graph.empty or not changes:
        return None, ""
    try:
        projection = whatif(graph, *changes)
    except UsageError:
        return None, ""
    return projection, " ".join(_option(change) for change in changes)


def _change(
    trace: Trace, graph: Graph, cause: Cause | None, who: str, delayed: float
) -> list[ScaledHost | ScaledKernels | FasterLink]:
    if cause == "slow link":
        factor = link_factor(trace, who)
        return [FasterLink(factor)] if factor > 1 else []
    rank = _number(who)
    if rank is None or cause not in ("compute", "host", "data loader"):
        return []
    if cause == "compute":
        factor = _usual_compute(trace, who)
        return [ScaledKernels(rank, factor)] if factor < 1 else []
    spent = _host_ns(graph, rank)
    return [ScaledHost(rank, _rounded(1 - delayed / spent))] if spent > delayed > 0 else []


def _number(who: str) -> int | None:
    name, _, number = who.partition(" ")
    return int(number) if name == "rank" else None


def _rounded(factor: float) -> float:
    return round(max(factor, _LEAST), 2)


def _usual_compute(trace: Trace, who: str) -> float:
    """The kernel time of a usual rank as a part of this one's."""
    own, usual = own_and_usual(trace, who, "computing")
    return _rounded(usual / own) if own else 1.0


def own_and_usual(trace: Trace, who: str, part: str) -> tuple[int, int]:
    """The time of a part on this rank, and on a usual one."""
    times = totals(trace).select("who", part)
    usual = times.select(pl.col(part).quantile(0.5, "lower")).item()
    return int(times.filter(who=who)[part].sum()), round(usual or 0)


def _host_ns(graph: Graph, rank: int) -> int:
    """The host time of a rank between its calls."""
    own = graph.edges.filter(
        (pl.col("kind") == "program") & (graph.nodes["rank"].gather(graph.edges["effect"]) == rank)
    )
    return int(own["lag_ns"].sum())


def link_factor(trace: Trace, who: str) -> float:
    """How many times longer the bytes take to a rank, at the median, than to the one of the same collective that has
    them first, or than the same collectives take among other ranks: a link like theirs would make it at least so many
    times faster."""
    return round(max(slower_than_first(trace, who), slower_than_others(trace, who)), 2)


def slower_than_first(trace: Trace, who: str) -> float:
    """How many times longer its bytes take than those of the first rank that is done."""
    transfers = classified(trace).filter(pl.col("class") == "transfer").select("meeting")
    sent = (
        arrivals(trace)
        .join(transfers, on="meeting", how="semi")
        .with_columns(
            own=pl.col("end_ns") - pl.col("last_ns"),
            first=(pl.col("end_ns").min() - pl.col("last_ns").max()).over("meeting"),
        )
        .filter((pl.col("who") == who) & (pl.col("first") > 0))
    )
    return _median(sent["own"] / sent["first"])


def slower_than_others(trace: Trace, who: str) -> float:
    """How many times longer its collectives take than those of one name, size and number of ranks among others."""
    own_parties = arrivals(trace).filter(who=who).select("party").unique()
    kinds = classified(trace).with_columns(own=pl.col("party").is_in(own_parties["party"].implode()))
    transfer = pl.col("transfer_ns")
    ratios = kinds.group_by("name", "size_bytes", "ranks").agg(
        own_ns=transfer.filter("own").median(), others_ns=transfer.filter(~pl.col("own")).median()
    )
    known = ratios.filter((pl.col("own_ns") > 0) & (pl.col("others_ns") > 0))
    return _median(known["own_ns"] / known["others_ns"])


def _median(ratios: pl.Series) -> float:
    """The median; 1 of nothing."""
    middle = ratios.median()
    return float(middle) if isinstance(middle, float) else 1.0


def _option(change: ScaledHost | ScaledKernels | FasterLink) -> str:
    if isinstance(change, FasterLink):
        return f"--link {change.factor:g}"
    name = "--host" if isinstance(change, ScaledHost) else "--compute"
    return f"{name} {change.rank}={change.factor:g}"
