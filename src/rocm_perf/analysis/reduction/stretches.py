"""What a rank did between its collectives, small enough to be gathered from all ranks: its time is cut wherever one of
them begins or ends, and how much of each stretch belongs to which part is kept, but not when within it.

Ranks are compared over spans that begin and end with a collective of theirs, so nothing is lost by that, but for one
thing: how much of the work beside a collective was done before the last rank had come to it. It counts as done first.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rocm_perf.analysis.basis.intervals import overlap_ns
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches, timed_pass
from rocm_perf.analysis.ranks.members import who
from rocm_perf.analysis.ranks.parts import loading, spent
from rocm_perf.analysis.ranks.work import HOST, KERNEL, Work, work
from rocm_perf.analysis.reduction.tables import OF_RANKS, OWNER, PARTS
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace

_MOST_NAMES = {KERNEL: 8, HOST: 16}  # of one rank, those that take longest
_BOUNDS = ("start_ns", "end_ns")
_TIMED_PASS = 0  # the only one that is gathered of many ranks
# Names by which analyses know what it is.
_COMPUTING, _COMMUNICATING, _LOADING = "kernels", "ncclDevKernel", "data_loader"


def activity(trace: Trace) -> dict[str, pl.DataFrame]:
    """The tables OF_RANKS of those that a recording has collectives of."""
    made = {"stretches": _stretches(trace), "rank_sums": _sums(trace), "rank_names": _names(trace)}
    owners = _collectives(trace).select("who", *OWNER).unique("who", keep="first", maintain_order=True)
    return {
        name: made[name].join(owners, on="who", maintain_order="left").select(*columns).cast(dict(columns))
        for name, columns in OF_RANKS.items()
    }


def _stretches(trace: Trace) -> pl.DataFrame:
    """The stretches in which each rank did something beside its collectives: who, start_ns, end_ns and PARTS."""
    cut = _cut(trace)
    beside = overlap_ns(cut, _collectives(trace), ["who"]) > 0
    parts = spent(trace, cut).select(
        "computing",
        "copying",
        communicating=pl.when(~beside).then(pl.col("waiting") + pl.col("communicating")).otherwise(0),
        loading=pl.when(~beside).then("loading").otherwise(0),
    )
    return pl.concat([cut, parts], how="horizontal").filter(pl.sum_horizontal(PARTS) > 0)


def _sums(trace: Trace) -> pl.DataFrame:
    return work(trace).ranks.with_columns(pl.col("clock_mhz").round())


def _names(trace: Trace) -> pl.DataFrame:
    """The kernels, operators and ranges that take each rank longest. What happens once makes nobody late again and
    again."""
    repeated = work(trace).names.filter(pl.col("calls") > 1)
    longest = repeated.sort("total_ns", "name", descending=[True, False])
    of_kinds = [
        longest.filter(kind=kind).group_by("who", maintain_order=True).head(most)
        for kind, most in _MOST_NAMES.items()
    ]
    return pl.concat(of_kinds)


def gathered_work(sums: pl.DataFrame, names: pl.DataFrame) -> Work:
    """What all ranks did, from what each of them contributed."""
    ranks = sums.with_columns(who(), pl.col("clock_mhz").cast(pl.Float64)).drop(*OWNER)
    return Work(ranks=ranks, names=names.with_columns(who()).drop(*OWNER))


def laid_out(rows: pl.DataFrame, collectives: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Stretches, and the collectives between them, as tables of a recording in which the same is done in each of them,
    one part after the other."""
    spans = dict(_spans(rows))
    timed = collectives.filter(pass_id=_TIMED_PASS).select(spans["communicating"].columns)
    communicating = pl.concat([spans["communicating"], timed])
    tables = {
        "dispatches": pl.concat(
            [
                spans["computing"].with_columns(kernel=pl.lit(_COMPUTING)),
                communicating.with_columns(kernel=pl.lit(_COMMUNICATING)),
            ]
        ),
        "copies": spans["copying"].with_columns(kind=pl.lit("UNKNOWN")),
        "ranges": spans["loading"].with_columns(name=pl.lit(_LOADING), source=pl.lit("chrome")),
    }
    return {name: schema.conform(name, table) for name, table in tables.items() if table.height}


def _spans(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    since = pl.col("start_ns")
    for part in PARTS:
        until = since + pl.col(part)
        spans = rows.filter(pl.col(part) > 0).select(*OWNER, start_ns=since, end_ns=until)
        yield part, spans
        since = until


def _cut(trace: Trace) -> pl.DataFrame:
    """The time of each rank between the beginnings and ends of its collectives, before and after them as far as it
    works or loads: who, start_ns, end_ns."""
    collectives = _collectives(trace)
    worked = [table.select(who(), *_BOUNDS) for table in (timed_dispatches(trace), timed_copies(trace))]
    outermost = [_outermost(spans) for spans in (pl.concat(worked), loading(trace))]
    moments = pl.concat(
        frame.select("who", at_ns=bound) for frame in (collectives, *outermost) for bound in _BOUNDS
    )
    moments = moments.join(collectives, on="who", how="semi").unique().sort("who", "at_ns")
    until = pl.col("at_ns").shift(-1).over("who")
    return moments.select("who", pl.col("at_ns").alias("start_ns"), until.alias("end_ns")).drop_nulls()


def _outermost(spans: pl.DataFrame) -> pl.DataFrame:
    return spans.group_by("who").agg(pl.col("start_ns").min(), pl.col("end_ns").max())


def _collectives(trace: Trace) -> pl.DataFrame:
    rows = trace.table("collectives").filter(
        (pl.col("pass_id") == timed_pass(trace)) & (pl.col("end_ns") >= pl.col("start_ns"))
    )
    return rows.with_columns(who()).drop_nulls("who")
