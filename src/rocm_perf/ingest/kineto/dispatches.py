"""Kernels of torch.profiler with their sizes in work-items, whatever a backend and the launching function recorded."""

from __future__ import annotations

import polars as pl

from rocm_perf.ingest.kineto.collectives import ARGUMENTS
from rocm_perf.ingest.kineto.columns import Columns
from rocm_perf.ingest.kineto.header import Header
from rocm_perf.ingest.kineto.owners import Owners

# More shared memory for a block needs an opt-in (CUDA C++ Programming Guide), which Kineto's estimate of the occupancy
# does not know: it is 0 then.
_SHARED_MEMORY = 48 * 1024
_WORK_ITEM_LAUNCHES = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")


def dispatches(
    kernels: pl.DataFrame, in_work_items: pl.Series, columns: Columns, owners: Owners, header: Header
) -> tuple[pl.DataFrame, bool]:
    """The table of kernels, and whether grid and workgroup were recorded the other way round."""
    if not kernels.height:
        return kernels, False
    swapped = header.rocprofiler_sdk is not None and _is_swapped(kernels)
    estimated = (pl.col("occupancy") > 0) | (pl.col("lds_bytes").fill_null(0) <= _SHARED_MEMORY)
    table = kernels.rename({"name": "kernel"}).with_columns(
        *_geometry(swapped, in_work_items), pl.when(estimated).then("occupancy")
    )
    table = table.drop(ARGUMENTS)
    numbered = table.with_columns(columns.kernel_numbers(table.height))
    return owners.of_gpu(numbered), swapped


def with_lds_of_calls(kernels: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The kernels with the LDS that their launching calls ask for, where their own events have none."""
    if not kernels.height or not calls.height or not kernels["lds_bytes"].null_count():
        return kernels
    asked = calls.select("correlation_id", "lds_bytes").drop_nulls().unique("correlation_id", keep="none")
    joined = kernels.join(asked, on="correlation_id", how="left", suffix="_of_call", maintain_order="left")
    filled = joined.with_columns(pl.coalesce("lds_bytes", "lds_bytes_of_call").alias("lds_bytes"))
    return filled.drop("lds_bytes_of_call")


def _is_swapped(kernels: pl.DataFrame) -> bool:
    """Whether a `block` is too large: no workgroup has more than 1024 work-items."""
    block = pl.col("workgroup_x") * pl.col("workgroup_y") * pl.col("workgroup_z")
    return bool(kernels.select((block > 1024).any()).item())


def launched_in_work_items(calls: pl.DataFrame) -> pl.Series:
    """Correlation ids of launches by functions that take the grid in work-items, as hipBLASLt and MIOpen do: it is
    recorded as given."""
    if not calls.height:
        return pl.Series(dtype=pl.Int64)
    launched = calls.filter(pl.col("name").is_in(_WORK_ITEM_LAUNCHES))
    return launched["correlation_id"].drop_nulls()


def _geometry(swapped: bool, in_work_items: pl.Series) -> list[pl.Expr]:
    """Sizes in work-items: blocks times block size, unless the backend wrote work-items already."""
    if swapped:
        sizes = [pl.col(f"workgroup_{axis}").alias(f"grid_{axis}") for axis in "xyz"]
        return [*sizes, *(pl.col(f"grid_{axis}").alias(f"workgroup_{axis}") for axis in "xyz")]
    has_work_items = pl.col("correlation_id").is_in(in_work_items.implode()).fill_null(False)
    return [
        (pl.col(f"grid_{axis}") * pl.when(has_work_items).then(1).otherwise(f"workgroup_{axis}")).alias(
            f"grid_{axis}"
        )
        for axis in "xyz"
    ]


def sized(launches: pl.DataFrame, in_work_items: pl.Series) -> pl.DataFrame:
    """The launches with their sizes in work-items."""
    return launches.with_columns(*_geometry(False, in_work_items)) if launches.height else launches
