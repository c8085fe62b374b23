"""The numbers that an optimisation is followed by, from the analysis of a profile. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rocm_perf.model.document import Document
from rocm_perf.units import format_bytes, format_ns, format_share


@dataclass(frozen=True)
class Measure:
    """One number of a phase: its key, its title, and which way is better (None: neither)."""

    key: str
    title: str
    format: Callable[[float], str]
    better: Literal["lower", "higher"] | None
    of: Callable[[Document], float | None]


def _latency_ns(document: Document) -> float | None:
    """The median step, or the wall time where nothing repeats."""
    step = document.phases.step_ns.value
    return document.wall_ns if step is None else step


def _gap_share(document: Document) -> float | None:
    """The idle time of all GPUs over the time between their first and their last work."""
    window = sum(device.window_ns for device in document.devices)
    return None if not window else sum(device.idle_ns for device in document.devices) / window


def _peak_memory(document: Document) -> float | None:
    """The highest memory in use on one GPU, as any source saw it."""
    return max((row.peak_bytes for row in document.memory.rows), default=None)


MEASURES = (
    Measure("latency_ns", "latency", format_ns, "lower", _latency_ns),
    Measure("kernels", "kernels", "{:,.0f}".format, "lower", lambda one: one.phases.kernels_per_step.value),
    Measure("gemm_share", "GEMM", format_share, None, lambda one: one.families.gemm_share.value),
    Measure("sync_share", "sync", format_share, "lower", lambda one: one.sync.share.value),
    Measure("gap_share", "gaps", format_share, "lower", _gap_share),
    Measure("peak_memory_bytes", "memory", format_bytes, "lower", _peak_memory),
    Measure("accuracy", "accuracy", "{:.6g}".format, "higher", lambda _one: None),
)


def phase_numbers(document: Document, accuracy: float | None = None) -> dict[str, float | None]:
    """Every number of a phase; the accuracy cannot be seen in a profile, and is given."""
    numbers = {measure.key: measure.of(document) for measure in MEASURES}
    return {**numbers, "accuracy": accuracy}
