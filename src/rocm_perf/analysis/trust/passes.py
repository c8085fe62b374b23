"""Counters are collected in several runs of the program; they belong together only if the runs did the same."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import kernel_pass
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns

# The n-th dispatch of a kernel in one pass is the n-th in every other.
_SAME = ["node", "agent_id", "kernel", "turn"]

# Counters of the work itself, which do not vary with clocks and caches.
_WORK = r"^SQ_WAVES(_sum)?$|^SQ_INSTS_|NUM_THREADGROUPS|^GRBM_SPI_NUM"
# Counters of time in another unit: clocks, and how long units were busy, waited or were full. They follow the clock and
# the load of the moment, so that they differ between passes that do the same. What ACCUM_PREV accumulates is even
# another counter in each pass: the one before it in the same file.
_CLOCKS = (
    r"(?i)^GRBM_|CYCLE|BUSY|ACTIVE|STALL|STARVE|WAIT|LATENCY|LEVEL|INFLIGHT|_FULL|NO_ALLOC|ACCUM_PREV|DURATION|TIME"
    r"|WINDOW_VALID|GATE_EN"
)
_WORK_NOISE = 0.01
_NOISE = 0.25  # cache counters of the vcopy recordings vary by 4 % between passes
_SMALL_COUNT = 1000  # below it, a few events are a large share
_TIME_RATIO = 1.25
_DIFFERENT_SHARE = 0.05
_OTHER_WORK = (
    "The passes did not do the same work",
    "Metrics that combine counters of several passes mean nothing. Make the program repeatable (fixed seeds, no "
    "autotuning), or ask for fewer counters so that one pass is enough.",
)
_OTHER_MEMORY = (
    "Caches and memory did not do the same in each pass",
    "No counter of the work itself differs, but metrics that combine these of several passes are off by as much. Ask "
    "for fewer counters, so that one pass is enough, or keep other programs off the GPU.",
)


def passes_run_different_kernels(trace: Trace) -> list[Finding]:
    """Kernels that ran in one pass more often than in another."""
    dispatches = trace.lazy("dispatches")
    if trace.run.collection is not None and trace.run.collection.deep is not None:
        # Behind a trace of everything, counters are those of the kernels that matter, or of a few of their launches.
        counting = trace.lazy("counters").select("pass_id").unique()
        dispatches = dispatches.join(counting, on="pass_id", how="semi")
    counts = dispatches.group_by("kernel", "pass_id").agg(pl.len().alias("calls")).collect()
    passes = counts["pass_id"].n_unique()
    if passes < 2:
        return []
    calls = pl.col("calls")
    spread = counts.group_by("kernel").agg(
        calls.min().alias("least"), calls.max().alias("most"), pl.len().alias("passes")
    )
    uneven = spread.filter((pl.col("least") < pl.col("most")) | (pl.col("passes") < passes)).sort(
        "most", "kernel"
    )
    if not uneven.height:
        return []
    return [
        Finding(
            id="passes-run-different-kernels",
            severity="warning",
            title=f"{uneven.height:,} of {spread.height:,} kernels did not run equally often in all {passes} passes",
            evidence=tuple(_uneven(row) for row in uneven.reverse().head(3).iter_rows(named=True)),
            remedy="Counters of different passes are matched by order and may be of different work. Make the program "
            "repeatable (fixed seeds, no autotuning), or collect with one pass.",
        )
    ]


def _uneven(row: dict[str, object]) -> str:
    return (
        f"{short_name(str(row['kernel']))}: {row['least']} to {row['most']} calls in {row['passes']} passes"
    )


def passes_differ_in_time(trace: Trace) -> list[Finding]:
    """Kernels whose median time in a counter pass is not that of the pass whose times are shown."""
    number = kernel_pass(trace)
    if number is None or trace.table("dispatches")["pass_id"].n_unique() < 2:
        return []
    times = _turns(trace).drop_nulls("length").filter(pl.col("length") >= 0)
    if times["pass_id"].n_unique() < 2:
        return []
    shown = times.filter(pl.col("pass_id") == number).select(*_SAME, pl.col("length").alias("shown"))
    pairs = times.filter(pl.col("pass_id") != number).join(shown, on=_SAME, nulls_equal=True)
    medians = pairs.group_by("pass_id").agg(
        (pl.col("length") / pl.col("shown")).median().alias("ratio"),
        pl.col("length").sum(),
        pl.col("shown").sum(),
    )
    ratio = pl.col("ratio")
    odd = medians.filter(~ratio.is_between(1 / _TIME_RATIO, _TIME_RATIO)).sort("pass_id")
    if not odd.height:
        return []
    return [
        Finding(
            id="passes-differ-in-time",
            severity="warning",
            title=f"{format_count(odd.height, 'pass', 'passes')} "
            "ran at a different speed from the one whose times are shown",
            evidence=tuple(
                f"pass {row['pass_id']}: median ratio {row['ratio']:.2f} "
                f"({format_ns(row['length'])} instead of {format_ns(row['shown'])})"
                for row in odd.head(3).iter_rows(named=True)
            ),
            remedy="Rates that divide a counter of one pass by the time of another are off by that factor: divide by "
            "cycles counted in the same pass, or collect one pass.",
        )
    ]


def counters_differ_between_passes(trace: Trace) -> list[Finding]:
    """The same counter of the same dispatch, measured in two passes, with different values; those that count time in
    clocks always have them."""
    if trace.lazy("counters").select(pl.col("pass_id").n_unique()).collect().item() < 2:
        return []
    spread = _spread(trace)
    beyond = pl.when("work").then(_WORK_NOISE).otherwise(_NOISE)
    counts = pl.col("work") | (pl.col("high") >= _SMALL_COUNT)
    different = spread.filter(counts & (pl.col("spread") > beyond)).sort(
        "work", "spread", descending=True, nulls_last=True
    )
    if not different.height or different.height < _DIFFERENT_SHARE * spread.height:
        return []
    worst = different.unique(["counter"], keep="first", maintain_order=True)
    title, remedy = _OTHER_WORK if worst["work"].any() else _OTHER_MEMORY
    return [
        Finding(
            id="counters-differ-between-passes",
            severity="warning",
            title=f"{title}: {worst.height:,} of {spread['counter'].n_unique():,} counters measured in several passes "
            "differ beyond noise",
            evidence=tuple(
                f"{row['counter']} of {short_name(row['kernel'])}: {row['low']:,.0f} to {row['high']:,.0f}"
                for row in worst.head(3).iter_rows(named=True)
            ),
            remedy=remedy,
        )
    ]


def _spread(trace: Trace) -> pl.DataFrame:
    """Each counter of each dispatch that several passes measured, but for clocks: low, high, the spread between them,
    and whether it counts the `work` itself."""
    work = pl.col("counter").str.contains(_WORK)
    counters = trace.table("counters").filter(work | ~pl.col("counter").str.contains(_CLOCKS))
    key = ["node", "pid", "pass_id", "dispatch_id"]
    turns = _turns(trace).select(*key, *(name for name in _SAME if name not in key))
    values = counters.drop("agent_id").join(turns, on=key, nulls_equal=True)
    low, high = pl.col("value").min(), pl.col("value").max()
    return (
        values.group_by(*_SAME, "counter")
        .agg(low=low, high=high, passes=pl.col("pass_id").n_unique())
        .filter((pl.col("passes") > 1) & (pl.col("high") > 0))
        .with_columns(spread=(pl.col("high") - pl.col("low")) / pl.col("high"), work=work)
    )


def _turns(trace: Trace) -> pl.DataFrame:
    """Dispatches with their number among those of the same kernel in the same pass."""
    order = ["node", "pass_id", "agent_id", "kernel"]
    length = (pl.col("end_ns") - pl.col("start_ns")).alias("length")
    rows = trace.table("dispatches").select(*order, "pid", "dispatch_id", "start_ns", length)
    ordered = rows.sort("start_ns", "dispatch_id", nulls_last=True).drop("start_ns")
    return ordered.with_columns(pl.int_range(pl.len()).over(order).alias("turn"))
