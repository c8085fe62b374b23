"""The results of `rocm-perf optimize`: every attempt, and what came of it. Times are in nanoseconds."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA_VERSION = 1

# "not proposed": whoever could have made the change says why it must not be tried. "not measured": static mode.
Verdict = Literal["accepted", "rejected", "no gain", "failed", "not proposed", "not measured"]
Conclusion = Literal["improved", "nothing helps", "not worth it", "static only", "stopped"]


class GatePassage(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt fared at one gate."""

    gate: str
    passed: bool
    words: str
    needed: str = ""  # the option with which it would have passed; empty: none is known


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """What a kernel needs, from its code object. None: not recorded there."""

    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    spills: int | None = None
    scratch_bytes: int | None = None
    lds_bytes: int | None = None
    waves: float | None = None  # that a SIMD (AMD) or a multiprocessor (NVIDIA) holds at once
    instructions: int | None = None
    code_bytes: int | None = None


class StaticFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the code of a kernel shows without being run: of its loops, where these access memory. Instructions count
    once each, not as often as they run. None: there is nothing of the kind."""

    in_loops: bool
    instructions: int
    accesses: int  # to global memory and the LDS
    instructions_per_byte: float | None  # for each byte that a work-item moves
    waits: int  # for loads
    bytes_in_flight: float | None  # of loads of a work-item, when its wave waits for one of them, on average
    wait_distance: float | None  # instructions between a load and the wait for it, on average


class Speedup(msgspec.Struct, frozen=True, kw_only=True):
    """A against B."""

    base_ns: float
    new_ns: float
    value: float
    interval: tuple[float, float] | None
    how: str  # "replay, 100 launches by turns in 3 processes"


class Geometry(msgspec.Struct, frozen=True):
    """How a launch changes with a candidate: work-items of a block, and whether the number of blocks follows."""

    block: tuple[int, int, int]
    keeps_items: bool  # as many work-items in all as before, in more or fewer blocks; else as many blocks


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the ledger."""

    number: int
    round: int  # how many changes had been accepted before
    key: str  # the same for the same change of the same version of the source
    name: str
    by: str
    verdict: Verdict
    reason: str
    passages: tuple[GatePassage, ...] = ()
    patch: str = ""
    flags: tuple[str, ...] = ()
    geometry: Geometry | None = None  # None: launched as before
    before: Resources | None = None
    after: Resources | None = None
    static: StaticFacts | None = None  # only where nothing is measured
    replay: Speedup | None = None
    program: Speedup | None = None
    seconds: float = 0.0


class Optimization(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `optimize` says."""

    schema_version: int = SCHEMA_VERSION
    source: str
    kernel: str
    arch: str
    compiler: str
    cause: str
    conclusion: Conclusion
    reason: str
    share: float | None = None  # of the steady state's critical path
    best_case: float | None = None  # speedup of the program at the very most
    best_case_basis: str = ""  # "with the kernel at its roof", "without the kernel"
    attempts: tuple[Attempt, ...] = ()
    static: StaticFacts | None = None  # of the original, where nothing is measured
    gain: Speedup | None = None  # of all accepted changes together, in replay: measured once more, unprofiled
    kernels_gain: Speedup | None = None  # of all kernels of the program together; None: no device timestamps
    program_gain: Speedup | None = None  # the program's wall time, unprofiled
    diff: str = ""
    applied: bool = False
    notes: tuple[str, ...] = ()
