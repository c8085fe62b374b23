"""The doctor's report: the machine, the methods that work on each GPU, and what is in the way."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.finding import Finding

SCHEMA_VERSION = 1
Works = Literal["yes", "no", "untested"]


class Trial(msgspec.Struct, frozen=True):
    """The result of trying one method."""

    works: bool
    wall_s: float
    words: str = ""  # what was recorded, or the tool's own message if it failed


class MethodAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one method works on one GPU."""

    method: str  # a row of the matrix: timing, torch.profiler, kernel trace, ..., or a profiler's own
    works: Works
    through: str = ""  # the profiler
    reason: str = ""  # why not, or under which condition
    remedy: str = ""  # what would help
    trial: Trial | None = None


class GpuMethods(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU, and every method on it."""

    index: int
    vendor: str
    gfx: str
    name: str
    memory_bytes: int | None
    compute_units: int | None
    pci: str
    methods: tuple[MethodAnswer, ...]


class Fact(msgspec.Struct, frozen=True):
    """One line about the machine."""

    label: str
    value: str
    fine: bool = True


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    """The whole report. The verdict has two lines: whether profiling works here, and what is in the way."""

    schema_version: int = SCHEMA_VERSION
    producer: str
    verdict: tuple[str, str]
    exit_code: int
    gpus: tuple[GpuMethods, ...]
    versions: tuple[Fact, ...]
    access: tuple[Fact, ...]
    tools: tuple[Fact, ...]
    problems: tuple[Finding, ...]
