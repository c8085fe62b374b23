"""Which targeted preset is worth a second recording, from what the first one showed."""

from __future__ import annotations

from typing import NamedTuple

from rocm_perf.analysis.basis.counters_refused import counters_refused
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.model.document import Document
from rocm_perf.units import format_share

_IDLE = 0.4  # of the wall: from here on the host holds the GPU back more than its kernels do
_GEMM = 0.5  # of the kernel time: from here on arithmetic is the likelier limit
_BY_KIND = {
    "communication": ("communication", "the GPU waits for collectives"),
    "copies": ("memory", "copies recur in every step"),
}
_COUNTING = ("compute", "memory")  # presets whose counters are what they are for
_BY_LABEL = {"compute": "compute", "LDS": "compute", "divergence": "compute", "occupancy": "compute"}


class Worth(NamedTuple):
    """A preset, and why it would show more."""

    preset: str
    reason: str


def next_preset(document: Document) -> Worth | None:
    """None where no kernel was recorded, counters are here already, or all that is left is counters that cannot be."""
    worth = _worth(document)
    if worth is None or worth.preset not in _COUNTING:
        return worth
    refused = counters_refused(document.run, (agent.gfx for agent in document.agents))
    return None if refused else worth


def _worth(document: Document) -> Worth | None:
    if not document.hotspots.rows or document.tables.get("counters"):
        return None
    for finding in document.findings[:1]:
        if finding.kind in _BY_KIND:
            return Worth(*_BY_KIND[finding.kind])
    idle = _idle_share(document)
    if idle is not None and idle >= _IDLE and not _has_calls(document):
        return Worth("api_overhead", f"the GPU is idle for {format_share(idle)} of the time")
    return _by_kernels(document)


def _has_calls(document: Document) -> bool:
    """Return whether the recording has the calls that the preset asks for.

    On AMD, operators of a framework beside calls of HIP say as much as those of HSA.
    """
    found = setting_of(document)
    return found.host_recorded and (found.nvidia or "operators" in found.recorded)


def _by_kernels(document: Document) -> Worth:
    first = next(iter(document.bottlenecks.kernels), None)
    if first is not None and first.label:
        preset = _BY_LABEL.get(first.label, "memory")
        return Worth(preset, f"{first.short_name} looks held back by {first.label}")
    gemm = document.families.gemm_share.value
    if gemm is not None and gemm >= _GEMM:
        return Worth("compute", f"matrix products take {format_share(gemm)} of the kernel time")
    return Worth("memory", "the GPU is busy, and not with matrix products")


def _idle_share(document: Document) -> float | None:
    window = sum(device.window_ns or 0 for device in document.devices)
    return sum(device.idle_ns or 0 for device in document.devices) / window if window else None
