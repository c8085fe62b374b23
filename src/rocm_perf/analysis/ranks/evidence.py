"""What a recording shows of the cause for which a rank is late, compared with the others; or why it shows nothing."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.ranks.over_time import totals
from rocm_perf.analysis.ranks.repair import own_and_usual, slower_than_first, slower_than_others
from rocm_perf.analysis.ranks.work import HOST, KERNEL, Work
from rocm_perf.model.results.ranks import Cause
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns

_LOWER = 0.98  # of the others' clock: then it explains something
_MORE = 1.02  # times as much as the others: from here on it is worth a word
_HALF = 0.5  # of what is lost: what takes less of it explains nothing


def unknown_reason(trace: Trace, work: Work, late: str, cause: str | None) -> str | None:
    """Why the recording does not tell the cause; None where it does."""
    if cause is None:
        return "it has no collective of these ranks before that one to compare with"
    host_recorded = bool(work.ranks.filter(who=late)["host_rows"].sum())
    if not totals(trace).filter(who=late)["computing"].sum() and not host_recorded:
        return "nothing but collectives was recorded of it"
    if cause == "host" and not host_recorded:
        return "its GPU is idle before it arrives, and what its host did is not recorded"
    return None


def evidence(trace: Trace, work: Work, cause: Cause, late: str, delayed_ns: float) -> Iterator[str]:
    """What is different on a late rank, one line each."""
    if cause == "compute":
        yield from _compute(work, late)
        yield from _clock(work, late)
    elif cause in ("data loader", "host"):
        yield _idle(trace, late, cause)
        yield from _longer(work, late, delayed_ns)
    elif cause == "slow link":
        yield from _link(trace, late)


def _compute(work: Work, late: str) -> Iterator[str]:
    """Whether it runs more kernels or slower ones, and which."""
    per_rank = work.ranks.drop_nulls("kernels").select("who", "kernels", "kernel_ns")
    own, others = per_rank.filter(who=late), per_rank.filter(pl.col("who") != late)
    if not own.height or not others.height:
        return
    count, spent = own.row(0)[1:]
    usual_count, usual_ns = (
        int(others[name].quantile(0.5, "lower") or 0) for name in ("kernels", "kernel_ns")
    )
    line = f"its kernels take {format_ns(spent)}, those of a usual rank {format_ns(usual_ns)}"
    if count > _MORE * usual_count:
        yield f"{line}: it runs {format_count(count, 'kernel')}, the others {usual_count:,}"
        return
    yield f"{line}, for as many kernels"
    yield from _slowest(work, late)


def _slowest(work: Work, late: str) -> Iterator[str]:
    """The kernel that loses most time, with what it takes on that rank and on a usual one."""
    spans = work.names.filter(kind=KERNEL).with_columns(
        mean=pl.col("total_ns") / pl.col("calls"), late=pl.col("who") == late
    )
    means = spans.group_by("name").agg(
        own=pl.col("mean").filter("late").first(),
        usual=pl.col("mean").filter(~pl.col("late")).median(),
        lost=pl.col("total_ns").filter("late").sum() * 1.0,
    )
    means = means.drop_nulls().with_columns(pl.col("lost") * (1 - pl.col("usual") / pl.col("own")))
    for name, own, usual, _ in means.sort("lost", "name", descending=[True, False]).head(1).iter_rows():
        yield f"{short_name(name)} takes {format_ns(own)} on it, elsewhere {format_ns(usual)}"


def _clock(work: Work, late: str) -> Iterator[str]:
    """The clock of its GPU, where it was read and is lower."""
    clocks = work.ranks.drop_nulls("clock_mhz")
    own = clocks.filter(who=late)["clock_mhz"].median()
    usual = clocks.filter(pl.col("who") != late)["clock_mhz"].median()
    if isinstance(own, float) and isinstance(usual, float) and own < _LOWER * usual:
        yield f"its GPU runs at {own:,.0f} MHz, the others at {usual:,.0f} MHz"


def _idle(trace: Trace, late: str, cause: Cause) -> str:
    """What the GPU waits for."""
    part = "loading" if cause == "data loader" else "idle"
    own, usual = own_and_usual(trace, late, part)
    doing = "its host fetches data" if cause == "data loader" else "its host launches nothing"
    return f"its GPU is idle for {format_ns(own)} while {doing}, that of a usual rank for {format_ns(usual)}"


def _longer(work: Work, late: str, delayed_ns: float) -> Iterator[str]:
    """The operator or range that takes longer than on the others."""
    sums = work.names.filter(kind=HOST)
    mine = sums.filter(who=late).select("name", own="total_ns")
    theirs = (
        sums.filter(pl.col("who") != late)
        .group_by("name")
        .agg(usual=pl.col("total_ns").quantile(0.5, "lower"))
    )
    more = mine.join(theirs, on="name").with_columns(more=pl.col("own") - pl.col("usual"))
    if more.height and more["more"].max() >= _HALF * delayed_ns:  # type: ignore[operator]
        name, spent, least, _ = more.sort("more", "own", "name", descending=[True, False, False]).row(0)
        yield f"{short_name(name)} takes it {format_ns(spent)}, a usual rank {format_ns(least)}"


def _link(trace: Trace, late: str) -> Iterator[str]:
    within, beside = slower_than_first(trace, late), slower_than_others(trace, late)
    if within > _MORE:
        yield (
            f"once all ranks have come, its bytes take {within:.2f} times as long as those of the first rank that is "
            "done"
        )
    if beside > _MORE:
        yield f"its collectives take {beside:.2f} times as long as the same among other ranks"
