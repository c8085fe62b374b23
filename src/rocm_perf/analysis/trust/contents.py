"""What a recording holds: its tables, and a few telling rows of those that are not about kernels in time: counters,
instructions, samples, measured peaks, GPUs, counters that exist. They let any recording answer, whatever it holds."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import polars as pl

from rocm_perf.analysis.basis.names import short_names
from rocm_perf.analysis.basis.passes import shown_pass
from rocm_perf.analysis.basis.readings import HIGHEST, LOWEST, MEAN, READINGS
from rocm_perf.model.results.contents import Excerpt
from rocm_perf.model.trace import Trace

ROWS = 10


def table_rows(trace: Trace) -> dict[str, int]:
    """The number of rows of each table that has any."""
    return {name: trace.rows(name) for name in trace}


def excerpts(trace: Trace) -> tuple[Excerpt, ...]:
    """One excerpt for each such table that has rows; of operators only where no GPU worked for them."""
    shown = (
        table for table in _MAKERS if trace.has(table) and (table != "ops" or not trace.has("dispatches"))
    )
    return tuple(_MAKERS[table](trace) for table in shown)


def _counters(trace: Trace) -> Excerpt:
    values = (
        trace.table("counters")
        .group_by("counter")
        .agg(
            pl.len().alias("dispatches"),
            pl.col("value").mean().alias("mean"),
            pl.col("value").min().alias("min"),
            pl.col("value").max().alias("max"),
        )
    )
    return _excerpt("counters", "Counters, per dispatch", values.sort("counter"))


def _instructions(trace: Trace) -> Excerpt:
    weight = pl.coalesce(
        "latency_cycles", pl.col("samples_issued").fill_null(0) + pl.col("samples_stalled").fill_null(0)
    )
    rows = (
        trace.table("instructions")
        .with_columns(weight.alias("cost"))
        .filter(pl.col("cost") > 0)
        .sort("cost", descending=True)
        .select(
            "text", "hits", "latency_cycles", "stall_cycles", "samples_issued", "samples_stalled", "source"
        )
    )
    return _excerpt("instructions", "Hottest instructions (latency includes stall)", _without_empty(rows))


def _pc_samples(trace: Trace) -> Excerpt:
    rows = (
        trace.table("pc_samples")
        .group_by("instruction", "source")
        .agg(pl.len().alias("samples"))
        .sort(["samples", "instruction"], descending=[True, False])
    )
    return _excerpt("pc_samples", "Instructions by PC samples", _without_empty(rows))


def _samples(trace: Trace) -> Excerpt:
    rows = (
        trace.table("samples")
        .group_by("agent_id", "metric", "unit")
        .agg(
            READINGS.sum().alias("readings"),
            LOWEST.min().alias("min"),
            MEAN.alias("mean"),
            HIGHEST.max().alias("max"),
        )
    )
    return _excerpt("samples", "Sensor readings", rows.sort("metric", "agent_id"))


def _ceilings(trace: Trace) -> Excerpt:
    rows = (
        trace.table("ceilings")
        .group_by("ceiling", "unit", maintain_order=True)
        .agg(
            pl.len().alias("gpus"),
            pl.col("value").mean().alias("mean"),
            pl.col("low").min().alias("low"),
            pl.col("high").max().alias("high"),
        )
    )
    return _excerpt("ceilings", "Measured peaks", rows)


def _metrics(trace: Trace) -> Excerpt:
    rows = (
        trace.table("metrics")
        .filter(pl.col("value").is_not_null())
        .select("group", "metric", "statistic", "value", "unit", "kernel")
    )
    return _excerpt(
        "metrics",
        "Metrics that the recording brings along",
        _without_empty(rows.with_columns(short_names(rows["kernel"]))),
    )


def _waves(trace: Trace) -> Excerpt:
    length = pl.col("end_cycle") - pl.col("start_cycle")
    rows = (
        trace.table("waves")
        .group_by("shader_engine")
        .agg(
            pl.len().alias("waves"),
            length.mean().alias("mean_cycles"),
            pl.col("instructions").mean().alias("mean_instructions"),
        )
    )
    return _excerpt("waves", "Traced waves", _without_empty(rows.sort("shader_engine")))


def _counter_info(trace: Trace) -> Excerpt:
    rows = trace.table("counter_info").select("counter", "block", "description").filter(~_is_constant())
    return _excerpt("counter_info", "Counters that this GPU has", _without_empty(rows))


def _is_constant() -> pl.Expr:
    """rocprofv3 lists dozens of properties of the GPU as if they were counters."""
    return pl.col("description").str.starts_with("Constant value").fill_null(False)


def _summaries(trace: Trace) -> Excerpt:
    rows = (
        trace.table("summaries")
        .filter(pl.col("domain") != "kernel")
        .select("domain", "name", "calls", "total_ns", "mean_ns")
    )
    return _excerpt("summaries", "The profiler's own statistics", rows.sort("total_ns", descending=True))


def _agents(trace: Trace) -> Excerpt:
    rows = trace.table("agents").filter(pl.col("kind").fill_null("GPU").str.to_uppercase() == "GPU")
    return _excerpt(
        "agents",
        "GPUs",
        _without_empty(
            rows.select("agent_id", "gfx", "name", "cu_count", "xcc_count", "wave_size", "clock_mhz")
        ),
    )


def _ranges(trace: Trace) -> Excerpt:
    length = pl.col("end_ns") - pl.col("start_ns")
    rows = (
        trace.table("ranges")
        .group_by("name", "source")
        .agg(pl.len().alias("count"), length.sum().alias("total_ns"))
    )
    return _excerpt("ranges", "Ranges", rows.sort(["total_ns", "name"], descending=[True, False]))


def _ops(trace: Trace) -> Excerpt:
    length = pl.col("end_ns") - pl.col("start_ns")
    rows = (
        trace.lazy("ops")
        .filter(pl.col("category") == "operator")
        .group_by("name")
        .agg(pl.len().alias("calls"), length.sum().alias("total_ns"), length.median().alias("median_ns"))
        .sort(["total_ns", "name"], descending=[True, False])
    )
    return _excerpt("ops", "Operators on the host", rows.collect())


def _kernels(trace: Trace) -> Excerpt:
    rows = trace.table("kernels").select("kernel", "vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes")
    return _excerpt(
        "kernels", "Kernel symbols", _without_empty(rows.with_columns(short_names(rows["kernel"])))
    )


def _copies(trace: Trace) -> Excerpt:
    rows = trace.table("copies").group_by("kind").agg(pl.len().alias("copies"), pl.col("size_bytes").sum())
    return _excerpt("copies", "Copies", rows.sort("kind"))


def _dispatches(trace: Trace) -> Excerpt:
    rows = (
        trace.table("dispatches")
        .filter(pl.col("pass_id") == (shown_pass(trace) or 0))
        .group_by("kernel")
        .agg(pl.len().alias("dispatches"), pl.col("vgprs").max(), pl.col("lds_bytes").max())
        .sort("kernel")
    )
    rows = rows.with_columns(short_names(rows["kernel"])).sort(
        ["dispatches", "kernel"], descending=[True, False], maintain_order=True
    )
    return _excerpt("dispatches", "Kernels without times", _without_empty(rows))


_MAKERS: dict[str, Callable[[Trace], Excerpt]] = {
    "dispatches": _dispatches,
    "counters": _counters,
    "instructions": _instructions,
    "pc_samples": _pc_samples,
    "waves": _waves,
    "ops": _ops,
    "ranges": _ranges,
    "samples": _samples,
    "ceilings": _ceilings,
    "metrics": _metrics,
    "summaries": _summaries,
    "counter_info": _counter_info,
    "kernels": _kernels,
    "copies": _copies,
    "agents": _agents,
}


def _excerpt(table: str, title: str, rows: pl.DataFrame) -> Excerpt:
    shown = tuple(tuple(_cell(value) for value in row) for row in rows.head(ROWS).iter_rows())
    return Excerpt(
        table=table,
        title=title,
        columns=tuple(rows.columns),
        rows=shown,
        left_out=max(0, rows.height - ROWS),
    )


def _without_empty(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows without columns that are null throughout."""
    return rows.select(column for column in rows.columns if rows[column].null_count() < rows.height)


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return _number(value)


def _number(value: float) -> str:
    """The number in at most nine characters and four significant digits."""
    for power, letter in ((12, "T"), (9, "G"), (6, "M")):
        if 10**power <= abs(value) < 1e15:
            return f"{value / 10**power:,.4g} {letter}"
    if abs(value) >= 1e15:
        return f"{value:.4g}"
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.4g}"
