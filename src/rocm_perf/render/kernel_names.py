"""Short names of kernels that tell the rows of a table apart: where several kernels share a short name, what differs
among their template arguments, parameters or namespaces stands behind it."""

from __future__ import annotations

from collections.abc import Iterable

from rocm_perf.model.instances import names_apart
from rocm_perf.model.results.times import Hotspot


def told_apart(spots: Iterable[Hotspot]) -> dict[str, str]:
    """Return a short name for each kernel, longer where others of these kernels have the same."""
    by_short: dict[str, list[str]] = {}
    for spot in spots:
        by_short.setdefault(spot.short_name, []).append(spot.kernel)
    return {
        kernel: name
        for short, kernels in by_short.items()
        for kernel, name in names_apart(short, list(dict.fromkeys(kernels))).items()
    }
