"""Scratch: memory of its own that each work-item has because its registers do not hold everything."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.passes import dispatches_by_kernel, shown_pass
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device, on_device
from rocm_perf.model.results.bottleneck import Evidence
from rocm_perf.model.trace import Trace

SOURCE = "resources of the dispatch"
_SAYS = (
    "each work-item keeps {:,.0f} bytes in scratch, which lies in device memory: registers that did not fit, or an "
    "array of its own that is indexed at run time"
)


def scratch(size_bytes: float) -> Evidence:
    """The evidence of this much scratch per work-item."""
    return Evidence(name="scratch", value=size_bytes, unit="B", says=_SAYS.format(size_bytes), source=SOURCE)


def scratch_evidence(trace: Trace, known: tuple[Device, ...]) -> dict[Key, Evidence]:
    """The scratch with which each kernel spent most time; nothing for kernels that have none, or none recorded."""
    shown = dispatches_by_kernel(trace).filter(pl.col("pass_id") == shown_pass(trace))
    if not (shown["scratch_bytes"] > 0).any():
        return {}
    length = (pl.col("end_ns") - pl.col("start_ns")).fill_null(1)
    sizes = (
        on_device(shown, known)
        .group_by("gpu", "kernel", "scratch_bytes")
        .agg(length.sum().alias("spent"))
        .sort(["spent", "scratch_bytes"], descending=True)
        .unique(["gpu", "kernel"], keep="first", maintain_order=True)
        .filter(pl.col("scratch_bytes") > 0)
    )
    rows = sizes.select("gpu", "kernel", "scratch_bytes").iter_rows()
    return {(gpu, kernel): scratch(size) for gpu, kernel, size in rows}
