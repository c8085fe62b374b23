"""What `rocm-perf count` knows of the kernels of a recording, as units, readings and causes with the kernel's time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.limits.emulated_work import Counts
from rocm_perf.analysis.limits.emulation import emulated_limits
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.emulated import counted_launches
from rocm_perf.analysis.roofline.times import times
from rocm_perf.model.machine_ceilings import MATRIX
from rocm_perf.model.results.count import Tally
from rocm_perf.model.results.limits import Cause, Reading, UnitUse
from rocm_perf.model.trace import Trace

_LAUNCH = ["gpu", "kernel", "symbol", "gfx", "wave_size", "of_workgroups", "grid_x", "grid_y", "grid_z"]
Limits = tuple[list[UnitUse], list[Reading], list[Cause]]


def limits_by_emulation(trace: Trace, known: tuple[Device, ...]) -> dict[Key, Limits]:
    """Return what saved counts show of each kernel that has dispatches on the same chip with the same grid.

    Where several launches of a kernel were counted, the one that takes most of its time is shown, and causes explain
    only the part of the kernel's time that its dispatches take.
    """
    counted = trace.table("emulated_tallies")
    if not counted.height:
        return {}
    timed = times(trace, known)
    rows = counted_launches(trace, known, timed, counted)
    lengths = timed.timed.select("slot", "duration_ns")
    spent = rows.join(lengths, on="slot", how="inner").unique(
        ["slot", "tally"], keep="first", maintain_order=True
    )
    whole = {
        (gpu, str(kernel)): total
        for gpu, kernel, total in timed.by_kernel(pl.col("duration_ns").sum()).iter_rows()
    }
    found: dict[Key, tuple[float, Limits]] = {}
    for launch in spent.partition_by(_LAUNCH, maintain_order=True):
        first = launch.row(0, named=True)
        key = (first["gpu"], first["kernel"])
        dispatches = launch.unique("slot")
        taken = float(dispatches["duration_ns"].sum())
        if taken > found.get(key, (0.0, None))[0]:
            mean_ns = taken / dispatches.height
            limits = emulated_limits(_counts(launch, first), known[key[0]].gpu, mean_ns)
            found[key] = (taken, _of_part(limits, taken / whole[key] if whole.get(key) else 1.0))
    return {key: limits for key, (_, limits) in found.items()}


def _counts(launch: pl.DataFrame, first: dict[str, Any]) -> Counts:
    rows = launch.unique("tally", keep="first", maintain_order=True).select("tally", "amount", "most_at")
    listed: Sequence[tuple[str, float, str]] = rows.rows()
    return Counts(
        kernel=first["kernel"],
        gfx=first["gfx"],
        wave_size=first["wave_size"],
        workgroups=first["of_workgroups"],
        tallies=tuple(_tallies(listed)),
        flops={name: amount for name, amount, _ in listed if name.endswith(MATRIX)},
    )


def _tallies(rows: Sequence[tuple[str, float, str]]) -> Iterator[Tally]:
    """Yield the tallies that this version knows."""
    for name, amount, place in rows:
        try:
            yield msgspec.convert({"name": name, "amount": amount, "most_at": place or ""}, Tally)
        except msgspec.ValidationError:
            continue


def _of_part(limits: Limits, part: float) -> Limits:
    """Scale causes to the whole time of the kernel, of which these launches take a part."""
    units, readings, causes = limits
    if part > 0.999:
        return limits
    scaled = [
        replace(one, share=one.share * part, saves=None if one.saves is None else one.saves * part)
        for one in causes
    ]
    return units, readings, scaled
