"""Device memory in use over time: from allocations paired by address, and from sensors that read it directly."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.readings import HIGHEST, IS_THINNED, LOWEST
from rocm_perf.analysis.basis.series import POINTS, highest
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.program.ranges import step_spans
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.memory import Memory, MemoryGrowth, MemoryUse
from rocm_perf.model.trace import Trace

FORMULAS = {
    "memory.peak_bytes": "largest sum of sizes of allocations that were not yet freed; a free takes its size from the "
    "allocation at its address",
    "memory.growth.levels_bytes": "with steps: memory in use at the end of each; without: the lowest of each tenth of "
    "the recording",
}
NOTHING = "neither allocations nor memory readings were recorded"

_SENSORS = (
    "vram_used_bytes",
    "vram_bytes",
    "torch_allocated_bytes",
    "torch_reserved_bytes",
    "xla_allocated_bytes",
)
_PLACE = ["node", "agent_id", "level"]
_TENTHS = 10
_FEWEST_STEPS = 3


@once_per_trace
def memory(trace: Trace, steps: pl.DataFrame | None = None) -> Memory:
    """Memory in use by GPU and level. `steps` has node, start_ns and end_ns; by default they come from the ranges."""
    known_steps = step_spans(trace) if steps is None else steps
    changes, untimed = _changes(trace)
    levels = [frame for frame in (_from_allocations(changes), _from_samples(trace)) if frame.height]
    if not levels:
        return Memory((), untimed, unavailable=NOTHING)
    table = pl.concat(levels, how="diagonal")
    rows = [
        _use(key, group.sort("time_ns", maintain_order=True), known_steps)
        for key, group in table.group_by([*_PLACE, "source"], maintain_order=True)
    ]
    return Memory(tuple(sorted(rows, key=lambda row: (row.source, -row.peak_bytes))), untimed)


def allocated_bytes(trace: Trace) -> pl.DataFrame:
    """Memory in use after each allocation and release: node, agent_id, level, time_ns and bytes."""
    return _from_allocations(_changes(trace)[0]).select(*_PLACE, "time_ns", "bytes")


def _changes(trace: Trace) -> tuple[pl.DataFrame, int]:
    """Allocations and frees in order, each with the bytes by which it changes what is in use."""
    number = timed_pass(trace)
    events = trace.table("allocations").filter(
        (pl.col("pass_id") == number) & pl.col("operation").is_in(["ALLOC", "FREE"])
    )
    usable = pl.col("start_ns").is_not_null() & (
        pl.col("size_bytes").is_not_null() | (pl.col("operation") == "FREE")
    )
    ordered = (
        events.filter(usable)
        .with_columns(pl.col("level").fill_null("REAL"))
        .sort("start_ns", maintain_order=True)
    )
    place = ["node", "rank", "pid", "level", "address"]
    is_alloc = pl.col("operation") == "ALLOC"
    held = pl.when(is_alloc).then(pl.col("size_bytes"))
    addressed = pl.col("address").is_not_null()
    before = pl.when(addressed).then(held.shift(1).over(place)).alias("held_bytes")
    where = pl.when(addressed).then(pl.when(is_alloc).then(pl.col("agent_id")).shift(1).over(place))
    paired = ordered.with_columns(before, pl.coalesce("agent_id", where))
    size = pl.when(is_alloc).then(pl.col("size_bytes")).otherwise(0)
    return paired.with_columns(
        is_alloc.alias("is_alloc"), (size - pl.col("held_bytes").fill_null(0)).alias("change")
    ), (events.height - ordered.height)


def _from_allocations(changes: pl.DataFrame) -> pl.DataFrame:
    held = pl.col("held_bytes").is_not_null()
    return changes.select(
        *_PLACE,
        pl.lit("allocations").alias("source"),
        pl.col("start_ns").alias("time_ns"),
        pl.col("change").cum_sum().over(_PLACE).alias("bytes"),
        "is_alloc",
        pl.col("earlier").fill_null(False).alias("is_earlier"),
        (pl.col("is_alloc") & held).alias("is_reuse"),
        (~pl.col("is_alloc") & ~held).alias("is_unknown"),
    )


def _from_samples(trace: Trace) -> pl.DataFrame:
    """Levels as they were read; a thinned row begins with its lowest and reaches its highest in its middle."""
    readings = (
        trace.table("samples").filter(pl.col("metric").is_in(_SENSORS)).drop_nulls(["time_ns", "value"])
    )
    ends = (
        readings.filter(IS_THINNED).with_columns(time_ns="start_ns", level=LOWEST),
        readings.with_columns(level=HIGHEST),
    )
    return (
        pl.concat(ends)
        .sort("time_ns", maintain_order=True)
        .select(
            "node",
            "agent_id",
            pl.col("metric").alias("level"),
            pl.lit("samples").alias("source"),
            "time_ns",
            pl.col("level").round().cast(pl.Int64).alias("bytes"),
        )
    )


def _use(key: tuple[Any, ...], levels: pl.DataFrame, steps: pl.DataFrame) -> MemoryUse:
    node, agent, level, source = key
    peak = levels.row(int(levels["bytes"].arg_max() or 0), named=True)
    first, last = levels["time_ns"][0], levels["time_ns"][-1]
    growth = _growth(levels, steps.filter(pl.col("node") == node))
    step, series = highest(levels.select("time_ns", pl.col("bytes").alias("level")), first, last, POINTS)
    counts: Mapping[str, int] = _counts(levels) if source == "allocations" else {}
    return MemoryUse(
        node=node,
        agent_id=agent,
        level=level,
        source=source,
        first_bytes=levels.filter(pl.col("time_ns") == first)["bytes"][-1],
        last_bytes=levels["bytes"][-1],
        peak_bytes=peak["bytes"],
        peak_ns=peak["time_ns"],
        allocations=counts.get("allocations", 0),
        frees=counts.get("frees", 0),
        frees_without_allocation=counts.get("unknown", 0),
        reused_addresses=counts.get("reused", 0),
        growth=growth,
        growth_unavailable=None if growth else "too few steps and too few changes to tell",
        start_ns=first,
        step_ns=step,
        series_bytes=series,
    )


def _counts(levels: pl.DataFrame) -> Mapping[str, int]:
    return levels.select(
        (pl.col("is_alloc") & ~pl.col("is_earlier")).sum().alias("allocations"),
        (~pl.col("is_alloc")).sum().alias("frees"),
        pl.col("is_unknown").sum().alias("unknown"),
        pl.col("is_reuse").sum().alias("reused"),
    ).row(0, named=True)


def _growth(levels: pl.DataFrame, steps: pl.DataFrame) -> MemoryGrowth | None:
    if steps.height >= _FEWEST_STEPS:
        ends = steps.select(pl.col("end_ns").alias("time_ns")).sort("time_ns")
        at_end = ends.join_asof(levels.select("time_ns", "bytes"), on="time_ns", strategy="backward")["bytes"]
        return _growth_between("memory in use at the end of each step", at_end.drop_nulls().to_list())
    if levels.height < 2 * _TENTHS:
        return None
    first, last = levels["time_ns"][0], levels["time_ns"][-1]
    if last == first:
        return None
    tenth = ((pl.col("time_ns") - first) * _TENTHS // (last - first)).clip(0, _TENTHS - 1).alias("tenth")
    # Between two changes the level stays: the lowest of a tenth is also what it begins with.
    frame = (
        levels.select(tenth, "bytes")
        .group_by("tenth")
        .agg(pl.col("bytes").min(), pl.col("bytes").last().alias("end"))
    )
    whole = pl.DataFrame({"tenth": range(_TENTHS)}, schema={"tenth": frame.schema["tenth"]}).join(
        frame, on="tenth", how="left", maintain_order="left"
    )
    lowest = pl.min_horizontal("bytes", pl.col("end").forward_fill().shift(1)).alias("bytes")
    return _growth_between(
        "lowest memory in use of each tenth of the recording", whole.select(lowest)["bytes"].to_list()
    )


def _growth_between(basis: str, levels: list[int]) -> MemoryGrowth | None:
    if len(levels) < _FEWEST_STEPS:
        return None
    rises = all(later > earlier for earlier, later in pairwise(levels))
    change = (levels[-1] - levels[0]) / (len(levels) - 1)
    formula = "(last level - first level) / (levels - 1)"
    inputs = {"first": levels[0], "last": levels[-1], "levels": len(levels)}
    return MemoryGrowth(
        basis=basis,
        levels_bytes=tuple(levels),
        per_step=Quantity(value=change, unit="B", formula=formula, inputs=inputs),
        suspicious=rises,
    )
