"""What a rank does in any stretch of its time: each instant belongs to the first of the parts that cover it."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.clock_domains import with_clocks
from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.loading import LOADING
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches, timed_rows
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.ranks.arrivals import arrivals
from rocm_perf.analysis.ranks.members import who
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.trace import Trace

PARTS = ("computing", "copying", "waiting", "communicating", "loading", "idle")
_SPAN = ("who", "start_ns", "end_ns")


def spent(trace: Trace, intervals: pl.DataFrame) -> pl.DataFrame:
    """For each interval (who, start_ns, end_ns) the time of each part in nanoseconds, which sum to its length."""
    reached = [overlap_ns(intervals, cover, ["who"]) for cover in _covers(trace)]
    length = (intervals["end_ns"] - intervals["start_ns"]).alias("idle")
    before = [pl.zeros(intervals.height, pl.Int64, eager=True), *reached]
    return pl.DataFrame(
        (until - since).alias(part)
        for part, since, until in zip(PARTS, before, [*reached, length], strict=True)
    )


@once_per_trace
def _covers(trace: Trace) -> tuple[pl.DataFrame, ...]:
    """The time that the first part covers, that the first two cover, and so on, as disjoint intervals of each rank."""
    covers: list[pl.DataFrame] = []
    for spans in (*_kernels_and_copies(trace), *_collectives(trace), loading(trace)):
        both = pl.concat([*covers[-1:], spans.select(_SPAN)])
        covers.append(disjoint(both, ["who"]))
    return tuple(covers)


def _kernels_and_copies(trace: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    kernels = timed_dispatches(trace)
    computing = kernels.filter(~is_collective(kernels["kernel"])).with_columns(who()).drop_nulls("who")
    copies = timed_copies(trace).with_columns(who()).drop_nulls("who")
    return computing.select(_SPAN), copies.select(_SPAN)


def _collectives(trace: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Collectives before the last rank has come, and after that; one that nobody was met in is all transfer."""
    met = arrivals(trace)
    waiting = met.select("who", "start_ns", end_ns=pl.min_horizontal("last_ns", "end_ns"))
    kernels = timed_dispatches(trace)
    talking = kernels.filter(is_collective(kernels["kernel"])).with_columns(who()).drop_nulls("who")
    return waiting, pl.concat([met.select(_SPAN), talking.select(_SPAN)])


@once_per_trace
def loading(trace: Trace) -> pl.DataFrame:
    """Operators and ranges of the host that fetch data: who, name, start_ns, end_ns."""
    both = pl.concat([host_spans(trace, table) for table in ("ops", "ranges")])
    names = both["name"].unique()
    fetching = both.filter(pl.col("name").is_in(names.filter(names.str.contains(LOADING)).implode()))
    return owned(fetching, trace).select("who", "name", "start_ns", "end_ns")


def host_spans(trace: Trace, table: str) -> pl.DataFrame:
    """Operators, ranges or calls of the host, with their process: node, rank, pid, name, start_ns, end_ns."""
    rows = timed_rows(trace, table)
    if table == "ranges":
        rows = rows.filter(~pl.col("on_gpu"))
    return rows.select("node", "rank", "pid", "name", "start_ns", "end_ns").collect()


def owned(rows: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Rows with a node, a rank and a process, and `who` that is; those of nobody are left out."""
    found = rows.join(processes(trace), on=["node", "pid"], how="left", maintain_order="left")
    return found.with_columns(pl.coalesce(pl.format("rank {}", "rank"), "who").alias("who")).drop_nulls("who")


@once_per_trace
def processes(trace: Trace) -> pl.DataFrame:
    """Who each process on the clock of the collectives is: node, pid, who. A rank alone meets nobody, and is itself."""
    columns = ["node", "pid", "who"]
    kernels = timed_dispatches(trace).with_columns(who()).drop_nulls("who").select(columns).unique()
    comparable = arrivals(trace).select("domain").unique()
    if comparable.height:
        kernels = with_clocks(kernels, trace).join(comparable, on="domain", how="semi")
    return pl.concat([kernels.select(columns), arrivals(trace).select(columns)]).unique().sort(columns)
