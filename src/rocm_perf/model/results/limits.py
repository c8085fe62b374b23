"""What limits a kernel: how busy each unit of the GPU was, how much of that was useful, and the causes that follow."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

Source = Literal[
    "counters", "shapes", "launch geometry", "code", "thread trace", "PC samples", "emulation", "times"
]
Certainty = Literal["proven", "likely", "hint"]


class UnitUse(msgspec.Struct, frozen=True):
    """One unit of the GPU: the share of the kernel's time that it was busy, and the useful share of its work."""

    unit: str  # a key of analysis/limits/units.toml: issue, f64, lds, memory ...
    title: str  # in the vendor's words
    busy: Quantity
    useful: Quantity | None  # None where nothing tells useful work from wasted
    source: Source


class Reading(msgspec.Struct, frozen=True):
    """A number about a kernel that is not the use of a unit: a wait, how much runs at once, what the work is."""

    name: str
    group: Literal["waits", "parallelism", "work"]
    title: str
    value: Quantity
    source: Source


class Cause(msgspec.Struct, frozen=True):
    """Why a kernel takes as long as it does. `id` is a key of analysis/limits/causes.toml.

    `share` is the part of the kernel's time that the cause explains; `saves` the part that removing it saves at most,
    None where nothing bounds it but the kernel's own time, 0.0 where the kernel does nothing useless.
    """

    id: str
    share: float
    saves: float | None
    certainty: Certainty
    title: str  # what follows "NAME takes 40 % of the kernel time: "
    evidence: tuple[str, ...]  # whole sentences without a full stop, the weightiest first
    remedy: str
    source: Source
    is_not: str = ""  # what it looks like and is not


class KernelLimits(msgspec.Struct, frozen=True):
    """The table of units of one kernel, and its causes with the most likely first. `missing` says why there is none."""

    units: tuple[UnitUse, ...] = ()
    readings: tuple[Reading, ...] = ()
    causes: tuple[Cause, ...] = ()
    missing: str = ""


class GroupCause(msgspec.Struct, frozen=True):
    """A cause of several kernels together, such as a chain that one kernel could replace. The share and the gain of the
    cause are those of `total_ns`, the time of the dispatches that it is about."""

    kernels: tuple[str, ...]  # in the order in which they run
    gpu: int  # place in Roofline.gpus
    total_ns: int
    calls: int
    cause: Cause
