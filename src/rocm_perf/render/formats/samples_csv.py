"""Power and memory readings of a Trace as madengine's gpu_info_power_profiler and gpu_info_vram_profiler write them:
one row per reading, one column per GPU, the time to the microsecond without a time zone."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from pathlib import Path

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.files import write_whole
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.cells import write_csv

POWER = "Power(Watt)"
VRAM = "vram(%)"


def write_power(
    trace: Trace, path: Path, *, node: int = 0, epoch_ns: int = 0, overwrite: bool = False
) -> None:
    """Write the power of each GPU of one node. `epoch_ns` is the date at which the trace's clock reads 0: without it,
    the
    times of a boot clock come out as a day of 1970."""
    readings = _readings(trace, "power_w", node).select("time_ns", "agent_id", "value")
    _write(_table(trace, readings, POWER, node, epoch_ns), path, overwrite)


def write_vram(
    trace: Trace, path: Path, *, node: int = 0, epoch_ns: int = 0, overwrite: bool = False
) -> None:
    """Write the share of memory in use on each GPU of one node, if the size of the memory is known."""
    shares = _readings(trace, "vram_percent", node).select("time_ns", "agent_id", "value")
    sizes = trace.table("agents").filter(pl.col("node") == node).select("agent_id", "memory_bytes")
    used = _readings(trace, "vram_used_bytes", node).join(sizes, on="agent_id", maintain_order="left")
    share = (100 * pl.col("value") / pl.col("memory_bytes")).alias("value")
    readings = pl.concat([shares, used.select("time_ns", "agent_id", share).drop_nulls()])
    _write(_table(trace, readings, VRAM, node, epoch_ns), path, overwrite)


def _readings(trace: Trace, metric: str, node: int) -> pl.DataFrame:
    rows = trace.table("samples").filter(pl.col("metric") == metric, pl.col("node") == node)
    return rows.drop_nulls(["time_ns", "agent_id", "value"])


def _table(trace: Trace, readings: pl.DataFrame, title: str, node: int, epoch_ns: int) -> pl.DataFrame:
    """A row for each time, a column for each GPU under its number among the GPUs."""
    if readings.is_empty():
        raise EmptyCaptureError(f"the recording holds no {title} readings of node {node}")
    agents = trace.table("agents").filter(pl.col("node") == node).select("agent_id", "logical_index")
    numbered = readings.join(agents, on="agent_id", how="left", maintain_order="left").with_columns(
        gpu=pl.coalesce("logical_index", "agent_id")
    )
    wide = numbered.sort("gpu", maintain_order=True).pivot(
        "gpu", index="time_ns", values="value", aggregate_function="first"
    )
    wide = wide.sort("time_ns")
    moment = pl.from_epoch(pl.col("time_ns") + epoch_ns, "ns").dt.strftime("%Y-%m-%d %H:%M:%S%.6f")
    gpus = [_decimals(wide[name], f"{title} GPU{name}") for name in wide.columns if name != "time_ns"]
    return wide.select(moment.alias("time"), *gpus)


def _decimals(values: pl.Series, name: str) -> pl.Series:
    """The number with every digit and without an exponent, which readers of these files do not expect."""
    shown = [None if value is None else format(Decimal(repr(value)), "f") for value in values]
    return pl.Series(name, shown, dtype=pl.String)


def _write(table: pl.DataFrame, path: Path, overwrite: bool) -> None:
    # Lines end as Python's csv module ends them, which is what the tool writes with.
    write = partial(write_csv, table, line_terminator="\r\n", quote_style="never")
    write_whole(path, write, overwrite=overwrite)
