"""How many blocks a target's longest kernel is launched with, for each compute unit: below one, some of the GPU
stands idle, and times scatter by how the blocks are spread."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocm_perf.errors import RocmPerfError


def launch_facts(trace: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The launch of the longest kernel in a recording of one call, as facts; empty where it is not known."""
    units = facts.get("machine", {}).get("compute_units")
    if not units or not trace.is_file():
        return {}
    try:
        kernel, blocks = _longest(trace)
    except (RocmPerfError, LookupError):
        return {}
    return {"longest_kernel": {"name": kernel, "blocks": blocks, "blocks_per_cu": blocks / units}}


def _longest(trace: Path) -> tuple[str, int]:
    """The name and the blocks of the kernel that took longest. Raises LookupError where there is none."""
    import polars as pl

    from rocm_perf.ingest.load import load

    sizes = [pl.col(f"grid_{axis}") // pl.col(f"workgroup_{axis}") for axis in "xyz"]
    rows = (
        load(trace)
        .table("dispatches")
        .with_columns(blocks=sizes[0] * sizes[1] * sizes[2])
        .drop_nulls(["start_ns", "end_ns", "blocks"])
        .sort(pl.col("end_ns") - pl.col("start_ns"), descending=True)
    )
    if rows.is_empty():
        raise LookupError("no kernel with a known launch")
    return rows["kernel"][0], int(rows["blocks"][0])
