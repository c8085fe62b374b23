"""The geometry of dispatches: workgroups, work-items, and how many waves fit a compute unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rocm_perf.analysis.roofline.devices import Device, on_device
from rocm_perf.arch.occupancy import Occupancy, Resources, occupancy
from rocm_perf.errors import UsageError


def with_geometry(dispatches: pl.DataFrame, known: tuple[Device, ...]) -> pl.DataFrame:
    """Add gpu, workgroups, workgroup_size and duration_ns to dispatches."""
    groups = [(pl.col(f"grid_{axis}") / pl.col(f"workgroup_{axis}")).ceil() for axis in "xyz"]
    size = pl.col("workgroup_x") * pl.col("workgroup_y") * pl.col("workgroup_z")
    length = pl.col("end_ns") - pl.col("start_ns")
    return on_device(dispatches, known).with_columns(
        (groups[0] * groups[1] * groups[2]).alias("workgroups"),
        size.alias("workgroup_size"),
        pl.when(length > 0).then(length).alias("duration_ns"),
    )


def fitting(row: Mapping[str, Any], device: Device) -> Occupancy | None:
    """Return how many waves of a dispatch fit a compute unit, by its registers, LDS and workgroup size."""
    if device.gpu is None or not row["workgroup_size"]:
        return None
    try:
        return occupancy(
            device.gpu,
            Resources(
                vgprs=row["vgprs"],
                agprs=row["agprs"] or 0,
                sgprs=row["sgprs"] or 0,
                lds_static=row["lds_bytes"] or 0,
                workgroup_size=row["workgroup_size"],
                wave_size=device.gpu.wave_size,
            ),
        )
    except UsageError:  # the recorded numbers fit no dispatch of this GPU
        return None
