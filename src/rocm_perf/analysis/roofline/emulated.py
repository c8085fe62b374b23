"""Work by emulation: what `rocm-perf count` counted of a launch holds for every dispatch that is launched alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.names import normalised
from rocm_perf.analysis.roofline.amounts import (
    EMULATED,
    NOTHING,
    ON_CHIP,
    Key,
    Known,
    Work,
    amounts_of,
    with_zeros,
)
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.times import ID, Times
from rocm_perf.model.trace import Trace

NOT_ALL_BYTES = "which lines the caches fetch more than once cannot be emulated"
LEAST_BYTES = f"its bytes are distinct lines, the least that memory moves: {NOT_ALL_BYTES}"
SAMPLED = "scaled from {done:,} of {all:,} workgroups"
OPERATIONS = "operations of the executed instructions"
COMPULSORY = "(distinct lines read + distinct lines written) * bytes of a line"
REQUESTED = "bytes that accesses ask for"
_SHAPE = [f"{what}_{axis}" for what in ("grid", "workgroup") for axis in "xyz"]


def emulated_work(trace: Trace, known: tuple[Device, ...], times: Times) -> Work:
    """Operations and bytes of every timed dispatch with the kernel, chip, grid and workgroup of a counted launch."""
    counted = trace.table("emulated")
    if not counted.height:
        return NOTHING
    timed = times.timed.with_columns(pl.col("kernel").cast(pl.String))
    named = _same_names(timed, counted)
    every = counted_launches(trace, known, times, counted)
    rows = every.unique(["slot", "ceiling"], keep="first", maintain_order=True)
    amounts = amounts_of(rows)
    works = rows.unique(["gpu", "kernel", "ceiling"], keep="first", maintain_order=True)
    placed = {(gpu, kernel) for gpu, kernel in works.select("gpu", "kernel").iter_rows()}
    others = {(gpu, kernel): row for gpu, kernel, row, _ in named.iter_rows() if (gpu, kernel) not in placed}
    return Work(
        amounts=with_zeros(amounts, "slot", amounts.select("slot", "gpu", "kernel").unique()),
        known=dict(_facts(works)),
        all_flops=frozenset(placed),
        reasons={
            **dict.fromkeys(placed, LEAST_BYTES),
            **{key: _unlike(counted.row(row, named=True), known[key[0]]) for key, row in others.items()},
        },
        notes=dict.fromkeys(placed, (LEAST_BYTES,)),
    )


def counted_launches(
    trace: Trace, known: tuple[Device, ...], times: Times, counted: pl.DataFrame
) -> pl.DataFrame:
    """Return the rows of a table of counts with each timed dispatch (gpu, kernel, slot) that they hold for: of the
    same kernel, chip, grid and workgroup."""
    timed = times.timed.with_columns(pl.col("kernel").cast(pl.String))
    named = _same_names(timed, counted)
    ran_on = pl.col("gpu").replace_strict({place: device.gfx for place, device in enumerate(known)})
    alike = named.filter(ran_on == pl.col("gfx"))
    launched = _launched(trace, timed.join(alike, on=["gpu", "kernel"], how="semi"))
    return (
        alike.drop("gfx")
        .join(counted.rename({"kernel": "symbol"}).with_row_index("row"), on="row")
        .with_columns(_shape())
        .join(launched, on=["gpu", "kernel", *_SHAPE], how="inner")
    )


def _same_names(timed: pl.DataFrame, counted: pl.DataFrame) -> pl.DataFrame:
    """Each kernel of the recording with the rows that were counted of a kernel of that name: gpu, kernel, row, gfx."""
    by_name: dict[str, list[tuple[int, str]]] = {}
    for row, (kernel, name, gfx) in enumerate(counted.select("kernel", "name", "gfx").iter_rows()):
        for spelling in {normalised(kernel), normalised(name)}:
            by_name.setdefault(spelling, []).append((row, gfx))
    found = [
        (gpu, kernel, row, gfx)
        for gpu, kernel in timed.select("gpu", "kernel").unique(maintain_order=True).iter_rows()
        for row, gfx in by_name.get(normalised(kernel), ())
    ]
    schema = {"gpu": pl.Int32, "kernel": pl.String, "row": pl.UInt32, "gfx": pl.String}
    return pl.DataFrame(found, schema, orient="row")


def _launched(trace: Trace, timed: pl.DataFrame) -> pl.DataFrame:
    """How each of these dispatches was launched."""
    shapes = trace.table("dispatches").drop_nulls("dispatch_id").select(*ID, *_shape())
    joined = timed.select("slot", "gpu", "kernel", *ID).join(shapes, on=ID, how="inner", nulls_equal=True)
    return joined.select("slot", "gpu", "kernel", *_SHAPE)


def _shape() -> list[pl.Expr]:
    """Axes that were not recorded have one work-item."""
    return [pl.col(column).cast(pl.Int64).fill_null(1) for column in _SHAPE]


def _facts(works: pl.DataFrame) -> Iterator[tuple[tuple[Key, str], Known]]:
    for row in works.iter_rows(named=True):
        done, all_of = row["workgroups"], row["of_workgroups"]
        is_memory = row["unit"] == "B" and row["ceiling"] not in ON_CHIP
        formula = OPERATIONS if row["unit"] != "B" else COMPULSORY if is_memory else REQUESTED
        yield (
            ((row["gpu"], row["kernel"]), row["ceiling"]),
            Known(
                basis=EMULATED,
                unit=row["unit"],
                formula=formula,
                doubt=SAMPLED.format(done=done, all=all_of) if done < all_of else None,
                complete=not is_memory,
            ),
        )


def _unlike(counted: Mapping[str, Any], device: Device) -> str:
    """Why what was counted of a kernel of this name does not hold for any of its dispatches."""
    if device.gfx != counted["gfx"]:
        ran_on = f"it ran on {device.gfx}" if device.gfx else "the recording does not say which GPU it ran on"
        return f"rocm-perf count counted its code for {counted['gfx']}, and {ran_on}"
    grid, workgroup = (
        " x ".join(str(counted[f"{what}_{axis}"]) for axis in "xyz") for what in ("grid", "workgroup")
    )
    launch = f"{grid} work-items in workgroups of {workgroup}"
    return f"rocm-perf count counted a launch of {launch}, and no dispatch is like that"
