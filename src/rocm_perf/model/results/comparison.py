"""What changed between two recordings, `base` and `new`. Differences are new minus base, times in nanoseconds."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.scorecard import Score

Match = Literal["name", "short name", "appeared", "vanished"]
Fate = Literal["came", "went", "stayed"]


class Side(msgspec.Struct, frozen=True):
    """One of the two recordings."""

    label: str
    tool: str
    wall_ns: int | None
    gpus: int
    kernels: int
    dispatches: int
    kernel_ns: int  # summed over dispatches
    recorded: tuple[str, ...]  # tables with times; the wall spans them


class WallPart(msgspec.Struct, frozen=True):
    """One part of the wall time, as one GPU saw it."""

    id: str
    title: str
    base_ns: int
    new_ns: int
    difference_ns: int


class WallChange(msgspec.Struct, frozen=True):
    """The wall time of one GPU's node, cut into parts that sum to it on both sides. Largest difference first."""

    base_gpu: str
    new_gpu: str
    base_ns: int
    new_ns: int
    difference_ns: int
    parts: tuple[WallPart, ...]


class KernelChange(msgspec.Struct, frozen=True):
    """One kernel on both sides; it has no calls on a side where it does not occur."""

    kernel: str  # short name
    match: Match
    base_names: tuple[str, ...]
    new_names: tuple[str, ...]
    base_calls: int
    new_calls: int
    base_ns: int
    new_ns: int
    base_mean_ns: float | None
    new_mean_ns: float | None
    difference_ns: int


class FindingChange(msgspec.Struct, frozen=True):
    """A finding of one side or of both."""

    id: str
    fate: Fate
    title: str
    base_at_stake_ns: int | None
    new_at_stake_ns: int | None


class StepChange(msgspec.Struct, frozen=True):
    """Steps of the program, if both sides have them: they compare even if the sides ran different numbers of them."""

    base_steps: int
    new_steps: int
    base_found: str  # how the steps were identified
    new_found: str
    base_ns: float  # wall / steps
    new_ns: float
    base_kernels: float  # median number of kernels
    new_kernels: float


class Comparison(msgspec.Struct, frozen=True):
    """Everything that `compare` says."""

    base: Side
    new: Side
    speedup: Quantity  # base wall / new wall
    interval: Quantity  # of the speedup
    wall: WallChange | None
    wall_unavailable: str | None
    gpus: tuple[WallChange, ...]
    steps: StepChange | None
    steps_unavailable: str | None
    kernel_count: Score
    kernels: tuple[KernelChange, ...]  # largest difference first
    findings: tuple[FindingChange, ...]
    notes: tuple[str, ...]
    schema_version: int = 1
