"""What a kernel does, counted while its machine code was executed without a GPU: everything that `count` says.

Counts are of the whole grid. Where only a sample of the workgroups was executed, they are scaled from it, and
`Executed` says so. The only times in here are those that a user gave.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Bottleneck
from rocm_perf.model.results.roofline import KernelRoofline, RooflineGpu

SCHEMA_VERSION = 1

Space = Literal["global", "scratch", "scalar"]
Bound = Literal["memory", "compute", "either"]
TallyName = Literal[
    "waves", "work-items", "instructions", "vector", "vector lanes", "f64", "f32", "f16", "integer", "special",
    "conversions", "f64 conversions", "integer divisions", "multiply-adds", "products of loads", "dependent", "matrix",
    "scalar", "branches", "barriers", "waits", "lds", "lds cycles", "lds conflicts", "loads", "stores", "atomics",
    "local atomics", "load bytes", "load lines", "dense load lines", "store bytes", "store lines", "dense store lines",
    "narrow accesses", "wide accesses", "l1 look-ups", "atomic lanes", "contended lanes", "local atomic lanes",
    "contended local lanes", "scratch accesses", "indexed scratch accesses", "scratch bytes", "scratch lines",
    "spilled registers", "compulsory bytes",
]  # fmt: skip


class InstructionCount(msgspec.Struct, frozen=True, kw_only=True):
    """One instruction of the code object, over all waves that executed it. Not scaled."""

    address: int  # in the code object
    text: str
    file: str | None = None
    line: int | None = None
    executions: int = 0  # by a wave
    lanes: int = 0  # that were active, added up over executions
    bytes: int = 0  # that they asked for, of memory or LDS
    lines_64: int = 0  # distinct lines of 64 bytes in each execution, added up
    lines_128: int = 0
    lds_cycles: int = 0  # of the banks, conflicts included
    lds_conflicts: int = 0  # cycles that conflicts added
    same_address: int = 0  # atomics: lanes whose address an earlier lane of the execution had
    scratch_bytes: int = 0  # of `bytes`, those in the lanes' own memory, whichever instruction asks for them


class Footprint(msgspec.Struct, frozen=True, kw_only=True):
    """Distinct lines of memory that the whole dispatch touched: what a cache of any size has to fetch and write."""

    line_bytes: int
    read: int  # lines
    written: int
    touched: int  # read or written or both
    is_scaled: bool = False  # from a sample, as if workgroups shared no line: the most that there can be

    @property
    def compulsory_bytes(self) -> int:
        """What memory has to give and take, however large the caches are."""
        return self.line_bytes * (self.read + self.written)


class Executed(msgspec.Struct, frozen=True, kw_only=True):
    """What was executed, and what that stands for."""

    workgroups: int
    of_workgroups: int
    waves: int  # executed
    wave_size: int
    seconds: float  # that it took here, which says nothing about a GPU

    @property
    def scale(self) -> float:
        """What counts of the executed workgroups are multiplied by."""
        return self.of_workgroups / self.workgroups if self.workgroups else 1.0

    @property
    def is_sample(self) -> bool:
        """Whether workgroups were left out."""
        return self.workgroups < self.of_workgroups


class ClassCount(msgspec.Struct, frozen=True, kw_only=True):
    """Instructions of one class: VALU, matrix, SALU, LDS, ..."""

    name: str
    executions: int  # by waves
    share: float  # of all instructions


class Operations(msgspec.Struct, frozen=True, kw_only=True):
    """Floating-point operations of one type on one kind of unit. Of i8, integer operations."""

    dtype: str
    unit: Literal["vector", "matrix", "scalar"]
    amount: int

    @property
    def ceiling(self) -> str:
        """The name of the peak that limits it."""
        return f"{self.dtype} {self.unit}"


class Accesses(msgspec.Struct, frozen=True, kw_only=True):
    """Accesses of one kind to one space of addresses."""

    space: Space
    what: Literal["load", "store", "atomic"]
    executions: int  # by waves
    lanes: int
    bytes: int  # requested
    lines: int  # of `line_bytes`, distinct in each execution, added up
    line_bytes: int
    efficiency: float | None  # bytes requested / (lines * line_bytes); None where no line was touched
    same_address: int = 0  # atomics


class LdsUse(msgspec.Struct, frozen=True, kw_only=True):
    """Accesses to LDS."""

    banks: int
    executions: int
    bytes: int
    cycles: int
    conflict_cycles: int
    conflict_share: float | None  # of the cycles; None where there are none


class LineUse(msgspec.Struct, frozen=True, kw_only=True):
    """What the instructions of one source line did."""

    file: str
    line: int
    executions: int  # by waves
    share: float  # of all instructions
    flops: int
    bytes: int  # of memory, requested
    lines: int
    efficiency: float | None
    active: float | None  # share of the lanes
    lds_conflict_cycles: int


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernel needs of a compute unit, and how many waves of it fit. None: the code object does not say."""

    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    lds_bytes: int
    scratch_bytes: int  # per work-item
    waves_per_simd: float | None = None
    max_waves_per_simd: int | None = None
    limited_by: tuple[str, ...] = ()


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a dispatch, added up."""

    instructions: int  # by waves
    classes: tuple[ClassCount, ...]
    operations: tuple[Operations, ...]
    flops: int  # floating-point operations of all types, without integer ones
    accesses: tuple[Accesses, ...]
    footprint: Footprint | None  # None: it was not counted
    lds: LdsUse | None  # None: it does not use LDS
    active_lanes: float | None  # share of the lanes in vector instructions
    vector_lanes: int  # lane-instructions of the vector unit
    float_lanes: int  # of them, those that compute floating-point numbers
    integer_lanes: int  # and integers
    barriers: int  # by waves
    atomics: int  # by lanes, on memory and LDS
    contended_atomics: int  # of them, those at an address that an earlier lane of the execution had


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """One number of the whole grid that causes rest on: instructions count once for each wave that executes them."""

    name: TallyName
    amount: float
    most_at: str = ""  # the instruction that has the most of it, with its source line where that is known


class EmulatedRoofline(msgspec.Struct, frozen=True, kw_only=True):
    """Where the kernel meets the roofs of its GPU. What the caches serve is not known, so its intensity has bounds."""

    gpu: RooflineGpu
    point: KernelRoofline  # by compulsory bytes: the most favourable place it can have
    intensity_most: Quantity  # by compulsory bytes: memory is asked for every line once
    intensity_least: Quantity  # by requested lines: no cache serves any
    ridge: Quantity  # of the peak that its operations need most time at
    compute_ns: Quantity  # least time of the operations
    memory_ns: Quantity  # least time of the compulsory bytes
    uncached_ns: Quantity  # of the requested lines, if no cache served any
    bound: Bound | None  # "either": it depends on the caches; None: the GPU's peaks are not known
    reason: str


class Counting(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `count` says."""

    schema_version: int = SCHEMA_VERSION
    kernel: str
    name: str
    gfx: str
    code: str  # "captured", or the file
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    executed: Executed
    totals: Totals
    resources: Resources
    roofline: EmulatedRoofline
    bottleneck: Bottleneck
    findings: tuple[Finding, ...]
    lines: tuple[LineUse, ...]
    lines_unavailable: str | None
    limits: tuple[str, ...]  # what emulation cannot say
    instructions: tuple[InstructionCount, ...]
    tallies: tuple[Tally, ...] = ()
