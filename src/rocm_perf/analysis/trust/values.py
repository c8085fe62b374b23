"""Counters, sensor readings, copies and other tools' numbers that no GPU can produce."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.plausible import dead_counters
from rocm_perf.analysis.basis.readings import HIGHEST, LOWEST
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_bytes, format_count, format_ns

_EXACT = 2**53  # whole numbers above it have no exact double
_RATE = ".per_second"  # Nsight Compute's: an H200 could do 1.7e16 binary operations in a second
_PERCENT = r"(?i)^(%|pct|percent)"
_MAY_EXCEED = r"(?i)ratio"  # of two things, neither of which is part of the other
_ROUNDED_PERCENT = 101.0
_STATISTICS_NOISE = 0.01
_LINK_BYTES_PER_NS = 10_000  # 10 TB/s: above the memory of any GPU, and any link
_SMALL_COPY = 1 << 20

# Lowest and highest reading a sensor can give, by the name of its metric.
_SENSORS = (
    (r"^power_w$", 1.0, 3_000.0),
    (r"clock_mhz$", 0.0, 20_000.0),
    (r"^temperature.*_c$", -50.0, 200.0),
    (r"_percent$", 0.0, 100.0),
)


def impossible_counters(trace: Trace) -> list[Finding]:
    """Negative values, values that are not numbers, and values too large to be exact."""
    if not trace.has("counters"):
        return []
    value = pl.col("value")
    is_count = ~pl.col("counter").str.ends_with(_RATE)
    wrong = trace.lazy("counters").filter((value < 0) | ~value.is_finite() | ((value > _EXACT) & is_count))
    rows = wrong.select("counter", "dispatch_id", "value").collect()
    if not rows.height:
        return []
    return [
        Finding(
            id="impossible-counters",
            severity="error",
            title=f"{format_count(rows.height, 'counter value')} that no counter can show",
            evidence=tuple(
                f"{name} of dispatch {number}: {value:,.0f}"
                for name, number, value in rows.head(3).iter_rows()
            ),
            remedy="A counter is never negative, and above 2^53 its digits are lost: it overflowed or was misread. "
            "Collect this counter again, alone.",
        )
    ]


def counters_at_zero(trace: Trace) -> list[Finding]:
    """Counters of reads from memory that stay 0 in every dispatch, however large."""
    dead = dead_counters(trace) if trace.has("counters") else pl.DataFrame()
    if not dead.height:
        return []
    names = ", ".join(dead["counter"])
    return [
        Finding(
            id="counters-at-zero",
            severity="warning",
            title=f"{names}: 0 in every dispatch, and so not counted",
            evidence=tuple(
                f"{row['counter']} is 0 in {format_count(row['dispatches'], 'dispatch', 'dispatches')}, also for the "
                f"{row['items']:,.0f} work-items of {short_name(row['kernel'])}"
                for row in dead.head(3).iter_rows(named=True)
            ),
            remedy="Every kernel reads its code and arguments at least: what was read is unknown, not 0, and no metric "
            "uses these values. Newer releases or other counters of the same (rocm-perf list-counters) may count it.",
        )
    ]


def waves_and_grid(trace: Trace) -> list[Finding]:
    """SQ_WAVES that is not the number of waves of the grid: not all parts of the GPU were counted."""
    waves = trace.lazy("counters").filter(pl.col("counter").str.contains("^SQ_WAVES(_sum)?$"))
    key = ["node", "pid", "pass_id", "dispatch_id"]
    grids = trace.lazy("dispatches").select(*key, "kernel", *_wave_counts())
    pairs = waves.join(grids, on=key, nulls_equal=True).drop_nulls(["waves32", "waves64"]).collect()
    value = pl.col("value")
    odd = pairs.filter((value != pl.col("waves32")) & (value != pl.col("waves64")))
    if not odd.height:
        return []
    return [
        Finding(
            id="waves-differ-from-grid",
            severity="warning",
            title=f"{odd.height:,} of {pairs.height:,} dispatches have a wave count that differs from their grid",
            evidence=tuple(
                f"{short_name(row['kernel'])}: SQ_WAVES {row['value']:,.0f}, grid {row['waves64']:,} waves of 64 or "
                f"{row['waves32']:,} of 32"
                for row in odd.head(3).iter_rows(named=True)
            ),
            remedy="Counters of these dispatches cover only part of the GPU, or include other work: do not "
            "divide them by the kernel's whole work.",
        )
    ]


def _wave_counts() -> list[pl.Expr]:
    """Waves of a dispatch: workgroups, the partial ones at the edge too, times waves of a workgroup."""
    groups = [(pl.col(f"grid_{axis}") / pl.col(f"workgroup_{axis}")).ceil() for axis in "xyz"]
    size = pl.col("workgroup_x") * pl.col("workgroup_y") * pl.col("workgroup_z")
    return [
        (groups[0] * groups[1] * groups[2] * (size / lanes).ceil())
        .cast(pl.Int64, strict=False)
        .alias(f"waves{lanes}")
        for lanes in (32, 64)
    ]


def above_hundred_percent(trace: Trace) -> list[Finding]:
    """Percentages of a whole that exceed it, among the numbers that another tool computed."""
    parts = pl.col("unit").str.contains(_PERCENT) & ~pl.col("metric").str.contains(_MAY_EXCEED)
    above = trace.lazy("metrics").filter(parts & (pl.col("value") > _ROUNDED_PERCENT)).collect()
    evidence = [
        f"{name}: up to {value:.1f} %"
        for name, value in above.group_by("metric")
        .agg(pl.col("value").max())
        .sort("value", "metric", descending=[True, False])
        .iter_rows()
    ]
    shares = (
        trace.lazy("summaries").group_by("domain", *("node", "pid", "pass_id")).agg(pl.col("percent").sum())
    )
    sums = shares.filter(pl.col("percent") > _ROUNDED_PERCENT).collect()
    evidence += [
        f"shares of {domain} sum to {total:.1f} %"
        for domain, total in sums.select("domain", "percent").iter_rows()
    ]
    if not evidence:
        return []
    return [
        Finding(
            id="above-100-percent",
            severity="warning",
            title=f"{format_count(above.height + sums.height, 'percentage')} of a whole above 100 %",
            evidence=tuple(evidence[:5]),
            remedy="Usual causes: parts counted in one pass and the whole in another, or a sum over dies divided by "
            "the cycles of one. Do not build on these values.",
        )
    ]


def inconsistent_statistics(trace: Trace) -> list[Finding]:
    """A profiler's own statistics that contradict themselves."""
    mean, calls, total = pl.col("mean_ns"), pl.col("calls"), pl.col("total_ns")
    slack = 1 + _STATISTICS_NOISE
    outside = (mean * slack < pl.col("min_ns")) | (mean > slack * pl.col("max_ns"))
    # A mean that was rounded to whole nanoseconds is off by up to half of one for each call.
    unequal = (calls * mean - total).abs() > _STATISTICS_NOISE * total + calls
    rows = trace.lazy("summaries").filter(outside | unequal).collect()
    if not rows.height:
        return []
    return [
        Finding(
            id="inconsistent-statistics",
            severity="warning",
            title=f"{format_count(rows.height, 'row')} of the profiler's statistics contradict themselves",
            evidence=tuple(
                f"{short_name(row['name'])}: {row['calls'] or 0:,} calls of {format_ns(row['mean_ns'] or 0)} on "
                f"average, {format_ns(row['total_ns'] or 0)} in total"
                for row in rows.head(3).iter_rows(named=True)
            ),
            remedy="Take the times from the trace itself instead.",
        )
    ]


def impossible_samples(trace: Trace) -> list[Finding]:
    """Sensor readings outside of what a GPU can do; a factor of 1000 is named as such."""
    if not trace.has("samples"):
        return []
    extremes = (
        trace.lazy("samples")
        .group_by("metric", "node", "agent_id")
        .agg(LOWEST.min().alias("low"), HIGHEST.max().alias("high"))
    )
    rows = extremes.sort("metric", "node", "agent_id").collect()
    evidence = [text for row in rows.iter_rows(named=True) for text in _reading(row)]
    if not evidence:
        return []
    return [
        Finding(
            id="impossible-samples",
            severity="warning",
            title="Sensor readings that no GPU can have",
            evidence=tuple(evidence[:5]),
            remedy="Check the unit in which the sampler wrote them; energy and power of this recording cannot be used.",
        )
    ]


def _reading(row: dict[str, object]) -> list[str]:
    low, high = row["low"], row["high"]
    if not isinstance(low, float) or not isinstance(high, float):
        return []
    for pattern, least, most in _SENSORS:
        if not pl.Series([row["metric"]]).str.contains(pattern).item():
            continue
        if low < min(least, 0) or high > most or high < least:
            return [
                f"{row['metric']} of GPU {row['agent_id']}: {low:g} to {high:g}{_thousand(high, least, most)}"
            ]
    return []


def _thousand(high: float, least: float, most: float) -> str:
    """Says so where a thousandth, or a thousandfold, would be an ordinary reading."""
    if high > most and high / 1000 <= most:
        return ": 1000 times too large, as if in milli-units"
    if 0 < high < least and high * 1000 <= most:
        return ": 1000 times too small, as if in kilo-units"
    return ""


def impossible_copies(trace: Trace) -> list[Finding]:
    """Copies faster than any memory or link."""
    length = pl.col("end_ns") - pl.col("start_ns")
    sized = (pl.col("size_bytes") >= _SMALL_COPY) & (length >= 0)
    fast = trace.lazy("copies").filter(sized & (pl.col("size_bytes") > _LINK_BYTES_PER_NS * length))
    rows = fast.select("kind", "size_bytes", length.alias("length")).collect()
    if not rows.height:
        return []
    return [
        Finding(
            id="impossible-copies",
            severity="warning",
            title=f"{format_count(rows.height, 'copy', 'copies')} of {trace.rows('copies'):,} "
            "faster than any link or memory",
            evidence=tuple(
                f"{kind}: {format_bytes(size)} in {format_ns(span)}"
                for kind, size, span in rows.head(3).iter_rows()
            ),
            remedy="Their times are those of the request, not of the transfer, or the size is wrong: do not read "
            "bandwidths from them.",
        )
    ]


def stall_exceeds_latency(trace: Trace) -> list[Finding]:
    """Thread trace counts a stall as part of the latency."""
    stall, latency = pl.col("stall_cycles"), pl.col("latency_cycles")
    rows = trace.lazy("instructions").filter((stall > latency) | (latency < 0)).collect()
    if not rows.height:
        return []
    return [
        Finding(
            id="stall-exceeds-latency",
            severity="warning",
            title=f"{format_count(rows.height, 'instruction')} stalled for longer than they took",
            evidence=tuple(
                f"{row['text']}: {row['stall_cycles']:,} of {row['latency_cycles']:,} cycles"
                for row in rows.head(3).iter_rows(named=True)
            ),
            remedy="The trace was cut or decoded wrongly: trace fewer compute units, or a shorter kernel.",
        )
    ]
