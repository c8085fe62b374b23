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
# What it accumulates is the counter before it in the same file, another one in each pass.
_ACCUMULATOR = r"ACCUM_PREV"
_WORK_NOISE = 0.01
_NOISE = 0.25  # cycles and cache counters of the vcopy recordings vary by 4 % between passes
_SMALL_COUNT = 1000  # below it, a few events are a large share
_TIME_RATIO = 1.25
_DIFFERENT_SHARE = 0.05


def passes_run_different_kernels(trace: Trace) -> list[Finding]:
    """Kernels that ran in one pass more often than in another."""
    counts = trace.lazy("dispatches").group_by("kernel", "pass_id").agg(pl.len().alias("calls")).collect()
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
    """The same counter of the same dispatch, measured in two passes, with different values."""
    if trace.lazy("counters").select(pl.col("pass_id").n_unique()).collect().item() < 2:
        return []
    key = ["node", "pid", "pass_id", "dispatch_id"]
    turns = _turns(trace).select(*key, *(name for name in _SAME if name not in key))
    counters = trace.table("counters").filter(~pl.col("counter").str.contains(_ACCUMULATOR))
    values = counters.drop("agent_id").join(turns, on=key, nulls_equal=True)
    value = pl.col("value")
    spread = (
        values.group_by(*_SAME, "counter")
        .agg(
            value.min().alias("low"), value.max().alias("high"), pl.col("pass_id").n_unique().alias("passes")
        )
        .filter((pl.col("passes") > 1) & (pl.col("high") > 0))
        .with_columns(((pl.col("high") - pl.col("low")) / pl.col("high")).alias("spread"))
    )
    work = pl.col("counter").str.contains(_WORK)
    noisy = ~work & (pl.col("spread") > _NOISE) & (pl.col("high") >= _SMALL_COUNT)
    different = spread.filter((work & (pl.col("spread") > _WORK_NOISE)) | noisy).sort(
        "spread", descending=True
    )
    if not different.height or different.height < _DIFFERENT_SHARE * spread.height:
        return []
    worst = different.unique(["counter"], keep="first", maintain_order=True)
    return [
        Finding(
            id="counters-differ-between-passes",
            severity="warning",
            title=f"{worst.height:,} of {spread['counter'].n_unique():,} counters measured in several passes differ "
            "beyond noise",
            evidence=tuple(
                f"{row['counter']} of {short_name(row['kernel'])}: {row['low']:,.0f} to {row['high']:,.0f}"
                for row in worst.head(3).iter_rows(named=True)
            ),
            remedy="The passes did not do the same work: metrics that combine them mean nothing. Make the program "
            "repeatable, or ask for fewer counters so that one pass is enough.",
        )
    ]


def _turns(trace: Trace) -> pl.DataFrame:
    """Dispatches with their number among those of the same kernel in the same pass."""
    order = ["node", "pass_id", "agent_id", "kernel"]
    length = (pl.col("end_ns") - pl.col("start_ns")).alias("length")
    rows = trace.table("dispatches").select(*order, "pid", "dispatch_id", "start_ns", length)
    ordered = rows.sort("start_ns", "dispatch_id", nulls_last=True).drop("start_ns")
    return ordered.with_columns(pl.int_range(pl.len()).over(order).alias("turn"))
