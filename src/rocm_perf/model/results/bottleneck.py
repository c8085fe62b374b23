"""What holds each kernel back, with the measurements that say so."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.limits import GroupCause, KernelLimits

Label = Literal[
    "compute",
    "memory bandwidth",
    "memory latency",
    "LDS",
    "scratch",
    "occupancy",
    "launch/latency",
    "divergence",
    "waiting",
]


class Evidence(msgspec.Struct, frozen=True):
    """One measurement, and what it says."""

    name: str
    value: float
    unit: str
    says: str
    source: str  # what was measured: two measurements of one source are not independent
    doubt: str | None = None


class LabelScore(msgspec.Struct, frozen=True):
    """How much evidence supports one label, from 0 to 1. `enough`: at least two independent measurements."""

    label: Label
    score: Quantity
    enough: bool


class Bottleneck(msgspec.Struct, frozen=True):
    """What holds one kernel back. Without a label, `reason` says what is missing or undecided."""

    kernel: str
    short_name: str
    gpu: int | None  # place in Roofline.gpus
    total_ns: int
    label: Label | None
    score: float | None
    margin: float | None  # over the second label
    second: Label | None
    reason: str
    scores: tuple[LabelScore, ...]  # highest first
    evidence: tuple[Evidence, ...]
    would_tell_more: tuple[str, ...]  # commands that would measure more
    suspect: Label | None = None  # what one kind of evidence alone points to, where it is not proven
    because: str | None = None  # the name of the evidence that points there
    limits: KernelLimits = KernelLimits()  # the table of units, and the causes that follow from it


class Rival(msgspec.Struct, frozen=True):
    """Kernels that seem to solve one problem, of which one is slower than another."""

    slow: str
    fast: str
    slow_ns: float  # median of a dispatch
    fast_ns: float
    calls: int  # of the slow one
    total_ns: int  # of the slow one
    basis: str  # what makes them rivals


class Bottlenecks(msgspec.Struct, frozen=True):
    """All kernels, longest total time first; rivals, and groups of kernels with one cause, the most to gain first."""

    kernels: tuple[Bottleneck, ...]
    rivals: tuple[Rival, ...] = ()
    groups: tuple[GroupCause, ...] = ()
    unavailable: str | None = None
