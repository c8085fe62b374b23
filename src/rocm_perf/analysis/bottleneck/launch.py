"""What the dispatches alone tell: whether the grid fills the GPU, how short a kernel is, and how many waves fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.passes import dispatches_by_kernel, shown_pass
from rocm_perf.analysis.limits.geometry import fitting, with_geometry
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.arch.occupancy import Occupancy
from rocm_perf.model.results.bottleneck import Evidence
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

# The shortest dispatch shows what any dispatch costs, if it is short enough to hold nothing else.
_FLOOR_NS = 5_000
_BRIEF_NS = 10_000  # where no floor is seen: a few times what an empty dispatch takes
_RESOURCES = ["vgprs", "agprs", "sgprs", "lds_bytes", "workgroup_size", "workgroups"]
_KERNEL = ["gpu", "kernel"]


def launch_evidence(trace: Trace, known: tuple[Device, ...]) -> dict[Key, list[Evidence]]:
    """Evidence by kernel: empty_units, short and occupancy_limit, where grids, times and registers were recorded."""
    frame = _launches(trace, known)
    by_kernel: dict[Key, list[Evidence]] = {}
    for row in _grids(frame, known).iter_rows(named=True):
        by_kernel.setdefault((row["gpu"], row["kernel"]), []).append(_grid(row))
    for key, evidence in _short(frame):
        by_kernel.setdefault(key, []).append(evidence)
    for row in _commonest(frame).iter_rows(named=True):
        fits = _fits(row, known[row["gpu"]])
        if fits is not None:
            by_kernel.setdefault((row["gpu"], row["kernel"]), []).append(fits)
    return by_kernel


def _launches(trace: Trace, known: tuple[Device, ...]) -> pl.DataFrame:
    """Return the dispatches of the shown pass with gpu, workgroups, workgroup_size and duration_ns (null without)."""
    return with_geometry(dispatches_by_kernel(trace).filter(pl.col("pass_id") == shown_pass(trace)), known)


def _grids(frame: pl.DataFrame, known: tuple[Device, ...]) -> pl.DataFrame:
    """The share of compute units without a workgroup, weighted by time."""
    units = {place: device.compute_units for place, device in enumerate(known)}
    unit = pl.col("gpu").replace_strict(units, return_dtype=pl.Float64).alias("units")
    weight = pl.col("duration_ns").fill_null(1)
    empty = (1 - pl.col("workgroups") / pl.col("units")).clip(lower_bound=0)
    usable = (
        frame.with_columns(unit).filter(pl.col("workgroups").is_finite()).drop_nulls(["workgroups", "units"])
    )
    return usable.group_by(_KERNEL).agg(
        ((empty * weight).sum() / weight.sum()).alias("empty"),
        pl.col("workgroups").median(),
        pl.col("units").first(),
    )


def _grid(row: Mapping[str, Any]) -> Evidence:
    share = row["empty"]
    groups = format_count(round(row["workgroups"]), "workgroup")
    counts = f"{groups} (median) for {row['units']:,.0f} compute units"
    says = f"{counts}: {format_share(share)} stay empty, by time" if share else f"{counts}: all have work"
    return Evidence(name="empty_units", value=share, unit="", says=says, source="grid")


def _short(frame: pl.DataFrame) -> list[tuple[Key, Evidence]]:
    """How much of its time a kernel does little more than start and end: many tiny dispatches weigh no more than they
    take."""
    length, floor = pl.col("duration_ns"), frame["duration_ns"].min()
    timed = frame.drop_nulls("duration_ns").group_by(_KERNEL)
    if not isinstance(floor, int) or floor > _FLOOR_NS:
        halves = timed.agg(length.sort().filter(length.sort().cum_sum() * 2 >= length.sum()).first())
        return [((gpu, kernel), _brief(half)) for gpu, kernel, half in halves.iter_rows() if half < _BRIEF_NS]
    means = timed.agg(length.mean(), pl.len())
    return [
        ((gpu, kernel), _as_an_empty_one(mean, count, floor))
        for gpu, kernel, mean, count in means.iter_rows()
    ]


def _brief(half: int) -> Evidence:
    says = (
        f"half of its time or more passes in dispatches of {format_ns(half)} at most, little more than starting and "
        "ending one takes"
    )
    return Evidence(name="brief", value=half, unit="ns", says=says, source="time")


def _as_an_empty_one(mean: float, count: int, floor: int) -> Evidence:
    on_average = " on average" if count > 1 else ""
    says = f"it takes {format_ns(mean)}{on_average}; the shortest dispatch of the recording takes {format_ns(floor)}"
    return Evidence(name="short", value=floor / mean, unit="", says=says, source="time")


def _commonest(frame: pl.DataFrame) -> pl.DataFrame:
    """The resources with which each kernel spent most time."""
    known = frame.drop_nulls(["vgprs", "workgroup_size"]).filter(pl.col("vgprs") > 0)
    spent = known.group_by(*_KERNEL, *_RESOURCES).agg(pl.col("duration_ns").fill_null(1).sum().alias("spent"))
    ordered = spent.sort(["spent", *_RESOURCES], descending=[True] + [False] * len(_RESOURCES))
    return ordered.unique(_KERNEL, keep="first", maintain_order=True)


def _fits(row: Mapping[str, Any], device: Device) -> Evidence | None:
    limits = fitting(row, device)
    if limits is None or device.gpu is None:
        return None
    room = limits.workgroups_per_cu * device.gpu.compute_units
    return occupancy_evidence(limits, row["workgroups"] is not None and row["workgroups"] <= room)


def occupancy_evidence(limits: Occupancy, all_at_once: bool) -> Evidence:
    """The waves that fit, which limit nothing where all workgroups of the grid fit at once."""
    waves = f"{limits.waves_per_simd:g} of {limits.max_waves_per_simd} waves per SIMD"
    fit = f"{' and '.join(limits.limiters)} allow {waves}"
    source = "registers, LDS and workgroup size"
    if all_at_once:
        return Evidence(
            name="waves_that_fit",
            value=limits.share,
            unit="",
            says=f"{fit}, which holds the whole grid at once",
            source=source,
        )
    steps = f"; {', '.join(map(str, limits.steps))}" if limits.steps else ""
    return Evidence(name="occupancy_limit", value=limits.share, unit="", says=fit + steps, source=source)
