"""Work by emulation: what `rocm-perf count` counted of a launch holds for every dispatch that is launched alike."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rocm_perf.analysis.basis.names import normalised
from rocm_perf.analysis.roofline.amounts import EMULATED, NOTHING, ON_CHIP, SCHEMA, Key, Known, Work
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.times import ID, Times
from rocm_perf.model.trace import Trace

LEAST_BYTES = (
    "its bytes are distinct lines, the least that memory moves: which of them the caches fetch more than once cannot "
    "be emulated"
)
SAMPLED = "scaled from {done:,} of {all:,} workgroups"
_OPERATIONS = "operations of the executed instructions"
_LINES = "(distinct lines read + distinct lines written) * bytes of a line"
_REQUESTED = "bytes that accesses ask for"
_SHAPE = [f"{what}_{axis}" for what in ("grid", "workgroup") for axis in "xyz"]


def emulated_work(trace: Trace, known: tuple[Device, ...], times: Times) -> Work:
    """Operations and bytes of every timed dispatch with the kernel, chip, grid and workgroup of a counted launch."""
    counted = trace.table("emulated")
    if not counted.height:
        return NOTHING
    alike = _same_kernels(times.timed, counted, known)
    launched = _launched(trace, times.timed.join(alike, on=["gpu", "kernel"], how="semi"))
    rows = (
        alike.join(counted.with_row_index("row"), on="row")
        .with_columns(_shape())
        .join(launched, on=["gpu", "kernel", *_SHAPE], how="inner")
        .unique(["slot", "ceiling"], keep="first", maintain_order=True)
    )
    works = rows.unique(["gpu", "kernel", "ceiling"], keep="first", maintain_order=True)
    placed = {(gpu, kernel) for gpu, kernel in works.select("gpu", "kernel").iter_rows()}
    others = {(gpu, kernel): row for gpu, kernel, row in alike.iter_rows() if (gpu, kernel) not in placed}
    return Work(
        amounts=rows.select(*SCHEMA),
        known=dict(_facts(works)),
        all_flops=frozenset(placed),
        reasons={
            **dict.fromkeys(placed, LEAST_BYTES),
            **{key: _other_launch(counted, row) for key, row in others.items()},
        },
        notes=dict.fromkeys(placed, (LEAST_BYTES,)),
    )


def _same_kernels(timed: pl.DataFrame, counted: pl.DataFrame, known: tuple[Device, ...]) -> pl.DataFrame:
    """Each kernel of the recording with the rows that were counted of it, for the chip that it ran on."""
    by_name: dict[tuple[str | None, str], list[int]] = {}
    for row, (kernel, name, gfx) in enumerate(counted.select("kernel", "name", "gfx").iter_rows()):
        for spelling in {normalised(kernel), normalised(name)}:
            by_name.setdefault((gfx, spelling), []).append(row)
    pairs = [
        (gpu, kernel, row)
        for gpu, kernel in timed.select("gpu", "kernel").unique(maintain_order=True).iter_rows()
        for row in by_name.get((known[gpu].gfx, normalised(kernel)), ())
    ]
    return pl.DataFrame(pairs, {"gpu": pl.Int32, "kernel": pl.String, "row": pl.UInt32}, orient="row")


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
        formula = _OPERATIONS if row["unit"] != "B" else _LINES if is_memory else _REQUESTED
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


def _other_launch(counted: pl.DataFrame, row: int) -> str:
    sizes = counted.row(row, named=True)
    grid, workgroup = (
        " x ".join(str(sizes[f"{what}_{axis}"]) for axis in "xyz") for what in ("grid", "workgroup")
    )
    launch = f"{grid} work-items in workgroups of {workgroup}"
    return f"rocm-perf count counted a launch of {launch}, and no dispatch is like that"
