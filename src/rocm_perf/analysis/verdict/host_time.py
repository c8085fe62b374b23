"""What holds the time of a host where nothing of a GPU was recorded: MPI, collectives on CPUs, compilers, Python."""

from __future__ import annotations

from typing import Literal, NamedTuple

import polars as pl

from rocm_perf.analysis.basis.loading import LOADING
from rocm_perf.analysis.basis.nested import THREAD, nest
from rocm_perf.analysis.basis.passes import timed_rows
from rocm_perf.analysis.ledger.idle import COMPILING, MPI
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.range_sources import NOT_THE_PROGRAM
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

Group = Literal["mpi-start", "mpi", "gloo", "compiling", "loading-data", "waiting", "other"]

_MPI_ONCE = r"^P?MPI_(Init|Finalize)"
# How torch names collectives and messages that run on CPUs (ProcessGroupGloo.cpp), and oneCCL's and MPI's backends.
_ON_CPU = r"^(gloo|mpi|ccl):"
# Functions in which a thread of Python sleeps until another thread or process has something for it.
_WAITING = (
    r"^(<built-in method (sleep|poll|select|acquire)|<method '(acquire|poll|recv)')|\b(threading|selectors|queue"
    r"|connection|subprocess)\.py\(\d+\): (wait|_wait\w*|select|get|poll|join|recv)"
)
_MOST = 0.5  # of the time of the group's threads: it is what the recording is about
_SHOWN = 3
_KINDS: dict[Group, Kind] = {
    "mpi-start": "startup",
    "mpi": "communication",
    "gloo": "communication",
    "compiling": "startup",
    "loading-data": "host-bound",
}
_WORDS: dict[Group, str] = {
    "mpi-start": "{first} and other calls that are made once hold {share} of the host's time",
    "mpi": "MPI holds {share} of the host's time: {first}",
    "gloo": "Collectives on CPUs hold {share} of the host's time: {first}",
    "compiling": "Compiling holds {share} of the host's time: {first}",
    "loading-data": "Loading data holds {share} of the host's time: {first}",
}
_CAUSES: dict[Group, str] = {
    "mpi-start": "host-started",
    "mpi": "host-in-mpi",
    "gloo": "host-in-collectives",
    "compiling": "compiling",
    "loading-data": "loading-data",
}


class Held(NamedTuple):
    """What part of the time of the threads that work is spent in functions of one group, themselves alone."""

    group: Group
    ns: int
    total_ns: int
    functions: tuple[str, ...]  # the longest, with their times


def host_alone(trace: Trace) -> Finding | None:
    """Return what holds most of the host's time, where spans of the host alone were recorded; None where nothing does
    that has a cause of its own."""
    held = largest_group(trace)
    if held is None or held.group not in _WORDS or held.ns <= _MOST * held.total_ns:
        return None
    share, first = format_share(held.ns / held.total_ns), held.functions[0].partition(" ")[0]
    return Finding(
        id="host-alone",
        severity="warning",
        kind=_KINDS[held.group],
        title=_WORDS[held.group].format(share=share, first=first) + ". No GPU is in the recording",
        evidence=(
            f"{format_ns(held.ns)} of {format_ns(held.total_ns)} of all threads that work, without what they call: "
            + ", ".join(held.functions),
            *_of_mpi(held),
        ),
        remedy=remedy(_CAUSES[held.group], setting(trace)),
    )


def _of_mpi(held: Held) -> list[str]:
    waits = "a call of MPI lasts until the last of its ranks has come: how long it waits does not show on one rank"
    return [waits] if held.group == "mpi" else []


def longest_functions(trace: Trace) -> tuple[str, ...]:
    """Return the functions and ranges of the host that hold most time themselves, without what they call."""
    return _listed(_by_name(trace))


def largest_group(trace: Trace) -> Held | None:
    """Return the group of functions with most time; None where no span of the host was recorded."""
    names = _by_name(trace).filter(pl.col("group") != "waiting")
    total = int(names["ns"].sum())
    if not total:
        return None
    groups = names.group_by("group").agg(pl.col("ns").sum()).sort("ns", "group", descending=[True, False])
    group: Group = groups["group"][0]
    return Held(group, int(groups["ns"][0]), total, _listed(names.filter(pl.col("group") == group)))


def _listed(names: pl.DataFrame) -> tuple[str, ...]:
    rows = names.head(_SHOWN).iter_rows(named=True)
    return tuple(
        f"{row['name']} {format_ns(row['ns'])} in {format_count(row['calls'], 'call')}" for row in rows
    )


def _by_name(trace: Trace) -> pl.DataFrame:
    """Return the functions and ranges of the host by their own time, each with its group."""
    columns = ["name", *THREAD, "start_ns", "end_ns"]
    program = ~pl.col("on_gpu") & ~pl.col("source").fill_null("").is_in(NOT_THE_PROGRAM)
    spans = pl.concat(
        rows.select(columns).cast({"name": pl.String}).collect()
        for rows in (
            timed_rows(trace, "ops"),
            timed_rows(trace, "ranges").filter(program),
            timed_rows(trace, "api_calls"),
        )
    )
    nested = nest(spans.drop_nulls(["start_ns", "end_ns"])).with_columns(
        (pl.col("end_ns") - pl.col("start_ns")).alias("ns")
    )
    inner = nested.drop_nulls("parent").group_by("parent").agg(pl.col("ns").sum().alias("inner"))
    own = nested.join(inner, left_on="row", right_on="parent", how="left").with_columns(
        (pl.col("ns") - pl.col("inner").fill_null(0)).clip(lower_bound=0)
    )
    summed = own.group_by("name").agg(pl.col("ns").sum(), pl.len().alias("calls"))
    return summed.filter(pl.col("ns") > 0).sort("ns", "name", descending=[True, False]).with_columns(_group())


def _group() -> pl.Expr:
    name, patterns = pl.col("name").str, _PATTERNS.items()
    found = [pl.when(name.contains(pattern)).then(pl.lit(group)) for group, pattern in patterns]
    return pl.coalesce(*found, pl.lit("other")).alias("group")


_PATTERNS: dict[Group, str] = {  # the first that fits
    "mpi-start": _MPI_ONCE,
    "mpi": MPI,
    "gloo": _ON_CPU,
    "compiling": COMPILING,
    "loading-data": LOADING,
    "waiting": _WAITING,
}
