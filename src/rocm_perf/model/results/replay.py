"""The results of capture and replay: snapshots, reservations, timings, verdicts. Times are in nanoseconds."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.vendor import Vendor

SCHEMA_VERSION = 1

Three = tuple[int, int, int]
Reserved = Literal["exact", "failed", "relocated"]
Sameness = Literal["same", "same within tolerance", "different", "cannot be verified"]
ControlOutcome = Literal["failed as it must", "passed", "inconclusive"]
Pace = Literal["better", "worse", "no difference shown"]


class CapturedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU that the kernel ran on."""

    index: int = 0
    name: str = ""
    gfx: str = ""  # gfx942, sm_90
    uuid: str = ""
    memory_bytes: int | None = None


class RegionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One region of memory."""

    base: str  # hexadecimal
    size: int
    kind: str
    name: str
    saved: bool
    reason: str
    changed_bytes: int
    stored_bytes: int


class SnapshotInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `replay info` says."""

    schema_version: int = SCHEMA_VERSION
    path: str
    layout: str  # "rocm-perf", or "guides" for the one that guides describe
    producer: str
    created_at: str
    vendor: Vendor
    kernel: str
    name: str
    dispatch: int
    launch: int | None
    grid: Three
    workgroup: Three
    dynamic_lds_bytes: int
    group_segment_bytes: int
    private_segment_bytes: int
    kernarg_bytes: int
    code_object: str
    device: CapturedDevice
    driver: str
    runtime: str
    command: tuple[str, ...]
    raw_bytes: int
    stored_bytes: int
    changed_bytes: int | None  # None: the state after the kernel was not saved
    regions: tuple[RegionInfo, ...]
    uncovered: tuple[str, ...]
    notes: tuple[str, ...]
    missing: tuple[str, ...]
    checked_files: int  # files whose hashes are right


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """One address range as asked for, and as given."""

    base: str
    size: int
    got: str | None  # None: it was refused
    exact: bool


class ReserveCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `replay reserve-check` says."""

    schema_version: int = SCHEMA_VERSION
    verdict: Reserved
    reason: str
    device: str
    reservations: tuple[Reservation, ...]


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Times of one code object by device timestamps."""

    label: str
    iterations: int
    median_ns: float
    interval_ns: tuple[float, float] | None  # of the median
    interval_unavailable: str | None
    confidence: float
    mean_ns: float
    p5_ns: float
    p95_ns: float
    min_ns: float
    max_ns: float
    samples_ns: tuple[float, ...]


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU's clock, as it ran just before the launches that were timed."""

    median_mhz: float
    min_mhz: float
    max_mhz: float


class ReplayTiming(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `replay full-vm` says."""

    schema_version: int = SCHEMA_VERSION
    kernel: str
    name: str
    device: str
    iterations: int
    warmup: int
    recopy: bool  # whether memory is restored before each iteration, or only once
    mode: str  # the same in words, and the state of the caches
    restored_bytes: int  # before an iteration
    cache_bytes: int | None  # the GPU's largest cache
    cache_note: str  # what restoring does to the time; empty where it does not matter
    wall_ns: int  # the runner's
    clock: Clock | None  # None: it was not measured, which only NVIDIA's runner does
    timing: Timing


class ReplayComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `replay compare` says: B against A on the same state, interleaved, and A loaded a second time."""

    schema_version: int = SCHEMA_VERSION
    kernel: str
    name: str
    device: str
    iterations: int
    warmup: int
    mode: str
    wall_ns: int
    clock: Clock | None
    base: Timing
    again: Timing  # A, loaded a second time: what it differs by is noise
    new: Timing
    noise: float  # the most that A and A differ by, as a share; a smaller difference does not count
    speedup: float  # median of A / median of B
    interval: tuple[float, float] | None
    interval_unavailable: str | None
    confidence: float
    verdict: Pace


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One span of memory that is not as it should be."""

    region: str  # its address
    offset: int  # of the first differing byte in the region
    address: str
    differing_bytes: int
    compared_bytes: int
    is_output: bool  # the captured kernel wrote here; otherwise nothing should have been written
    expected: str  # bytes from the first differing one on, hexadecimal
    got: str
    expected_f32: float | None
    got_f32: float | None
    expected_f16: float | None
    got_f16: float | None


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """One replay compared with the state that the application's kernel left."""

    code: str
    verdict: Sameness
    compared_bytes: int
    differing_bytes: int
    tolerance: str  # the one that made it the same; empty if none was needed
    differences: tuple[Difference, ...]
    needed: str = (
        ""  # the tolerance that would make it the same, as options take it; empty: no usual one would
    )


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """A replay that must not give the application's result."""

    name: str
    outcome: ControlOutcome
    words: str


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `replay verify` says."""

    schema_version: int = SCHEMA_VERSION
    kernel: str
    name: str
    device: str
    verdict: Sameness
    reason: str
    deterministic: bool | None  # None: not checked, because the first replay gave the same result
    spoilt_bytes: int  # filled before each replay: the kernel had overwritten them with the same values
    captured: Judgement | None
    new: Judgement | None
    controls: tuple[Control, ...]


class CaptureReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `capture` says."""

    schema_version: int = SCHEMA_VERSION
    snapshots: tuple[str, ...]
    kernel: str
    name: str
    dispatch: int
    launch: int | None
    launches: int  # seen in the program
    matched: int
    raw_bytes: int
    stored_bytes: int
    changed_bytes: int | None
    regions: int
    uncovered: tuple[str, ...]
    not_seen: tuple[str, ...]
    seconds: dict[str, float]  # how long capturing in the program and storing took
    application_status: int
