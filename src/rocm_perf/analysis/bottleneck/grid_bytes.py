"""Bytes that a kernel must move, from its grid and the type of its arrays, where nothing else says what it moves.

An inference: every work-item reads one element and writes one. A stencil or a copy does at least that; of a gather or
a scatter one side may stay in cache; kernels whose work-items share elements (products, reductions) are left out.
"""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.passes import timed_by_kernel
from rocm_perf.analysis.bottleneck.element_types import element_bytes, element_type
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device, on_device
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.arch import catalog
from rocm_perf.model.results.bottleneck import Evidence
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_share

SOURCE = "grid and element type"
_LEAST_ITEMS = 1 << 20  # smaller arrays fit the caches
_SHARED = ("gemm", "convolution", "attention", "reduction", "softmax", "sort", "collective")
_ONE_SIDED = ("embedding",)
_PLAUSIBLE = 1.0  # of the peak: more was not moved


def grid_byte_evidence(trace: Trace, known: tuple[Device, ...]) -> dict[Key, Evidence]:
    """The share of the memory's peak that such traffic is, by kernel."""
    items = pl.col("grid_x") * pl.col("grid_y").fill_null(1) * pl.col("grid_z").fill_null(1)
    length = pl.col("end_ns") - pl.col("start_ns")
    sums = (
        on_device(timed_by_kernel(trace), known)
        .filter(length > 0)
        .group_by("gpu", "kernel")
        .agg(items.sum().alias("items"), length.sum().alias("spent"), items.median().alias("each"))
        .filter(pl.col("each") >= _LEAST_ITEMS)
    )
    found: dict[Key, Evidence] = {}
    for gpu, kernel, count, spent, each in sums.iter_rows():
        evidence = _evidence(kernel, known[gpu], items=count, spent_ns=spent, each=each)
        if evidence is not None:
            found[gpu, kernel] = evidence
    return found


def _evidence(kernel: str, device: Device, *, items: int, spent_ns: int, each: float) -> Evidence | None:
    name = element_type(kernel)
    if name is None or family(kernel).name in _SHARED:
        return None
    size, sides = element_bytes(name), 1 if family(kernel).name in _ONE_SIDED else 2
    rate = sides * size * items / spent_ns / 1000  # TB/s
    peak, of = _peak(device)
    if rate / peak > _PLAUSIBLE:
        return None
    moves = (
        f"moves one {name} ({size} B)" if sides == 1 else f"reads one {name} and writes one (2 x {size} B)"
    )
    says = (
        f"if each of its {each:,.0f} work-items {moves}, it moves at least "
        f"{rate:.2f} TB/s, {format_share(rate / peak)} of {of}"
    )
    return Evidence(name="grid_bytes", value=rate / peak, unit="", says=says, source=SOURCE)


def exceeds(one: Evidence, counted_tbytes: float, device: Device) -> bool:
    """Whether the grid implies a higher rate than was counted, in TB/s."""
    return one.value * _peak(device)[0] > counted_tbytes


def _peak(device: Device) -> tuple[float, str]:
    """The memory's peak in TB/s: of the GPU, or the highest of the catalogue where the GPU is not known."""
    if device.gpu is not None:
        return device.gpu.memory_gbps / 1000, f"the data-sheet peak of {device.gpu.name}"
    fastest = max(catalog.gpus(), key=lambda gpu: gpu.memory_gbps)
    return fastest.memory_gbps / 1000, f"the fastest memory known ({fastest.name}; this GPU was not recorded)"
