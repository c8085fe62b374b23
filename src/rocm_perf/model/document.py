"""The one typed document that analyses fill and renderers read. `--json` prints it as it is."""

from __future__ import annotations

import msgspec

from rocm_perf.model.coverage import Coverage
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.run import RunInfo

SCHEMA_VERSION = 1


class Hotspot(msgspec.Struct, frozen=True):
    """One kernel, over all its dispatches."""

    kernel: str  # full name as recorded, or the short name when grouped by it
    short_name: str
    calls: int
    total_ns: int
    mean_ns: float
    median_ns: float | None  # None where only the profiler's own statistics exist
    min_ns: int | None
    max_ns: int | None
    share: float  # of the summed kernel time


class Hotspots(msgspec.Struct, frozen=True):
    """All kernels, longest total first, and what they were taken from."""

    rows: tuple[Hotspot, ...]
    basis: str
    kernels: int
    dispatches: int
    total_ns: int
    unavailable: str | None = None


class DeviceTime(msgspec.Struct, frozen=True):
    """How one GPU, or one queue or stream of it, spent its window. busy + idle = window."""

    node: int
    agent_id: int | None
    queue_id: int | None
    stream_id: int | None
    name: str
    dispatches: int
    copies: int
    window_ns: int
    busy_ns: int
    kernel_ns: int
    copy_ns: int
    idle_ns: int
    busy: Quantity


class DomainTotal(msgspec.Struct, frozen=True):
    """One kind of host activity."""

    domain: str
    calls: int
    total_ns: int
    union_ns: int
    busiest: str
    busiest_ns: int


class CopyTotal(msgspec.Struct, frozen=True):
    """One direction of copies."""

    kind: str
    copies: int
    total_ns: int
    size_bytes: int | None
    bandwidth: Quantity


class SyncTime(msgspec.Struct, frozen=True):
    """Synchronising calls of the host."""

    calls: int
    device_wide: int  # of them, those that wait for the whole device
    union_ns: int
    idle_ns: int  # of it, time in which no GPU of the node did anything


class Agent(msgspec.Struct, frozen=True):
    """One GPU of the recording."""

    node: int
    agent_id: int
    gfx: str | None
    name: str | None
    cu_count: int | None


class Excerpt(msgspec.Struct, frozen=True):
    """The most telling rows of a table that the sections above do not cover."""

    table: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int


class Document(msgspec.Struct, frozen=True):
    """Everything that `analyze` says about one run."""

    label: str
    producer: str
    run: RunInfo
    tables: dict[str, int]
    agents: tuple[Agent, ...]
    wall_ns: int | None
    devices: tuple[DeviceTime, ...]
    queues: tuple[DeviceTime, ...]
    hotspots: Hotspots
    domains: tuple[DomainTotal, ...]
    copies: tuple[CopyTotal, ...]
    sync: SyncTime | None
    findings: tuple[Finding, ...]
    excerpts: tuple[Excerpt, ...]
    coverage: Coverage
    formulas: dict[str, str]
    schema_version: int = SCHEMA_VERSION
