"""The one typed document that analyses fill and renderers read. `--json` prints it as it is."""

from __future__ import annotations

import msgspec

from rocm_perf.model.coverage import Coverage
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Bottlenecks
from rocm_perf.model.results.communication import Communication
from rocm_perf.model.results.copies import SteadyCopies
from rocm_perf.model.results.energy import Energy
from rocm_perf.model.results.gaps import Gaps
from rocm_perf.model.results.instructions import PcSamples, ThreadTrace
from rocm_perf.model.results.kernels import Families, Slivers, Steps
from rocm_perf.model.results.launches import Launches
from rocm_perf.model.results.memory import Memory
from rocm_perf.model.results.metrics import Metrics
from rocm_perf.model.results.operators import Operators, QueueLength
from rocm_perf.model.results.path import CriticalPath
from rocm_perf.model.results.ranges import Ranges
from rocm_perf.model.results.roofline import Roofline
from rocm_perf.model.results.scorecard import Score
from rocm_perf.model.results.sync import Sync
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.run import RunInfo

SCHEMA_VERSION = 2


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
    overhead: Quantity  # of the profiler, on the wall time of the whole program
    tables: dict[str, int]
    agents: tuple[Agent, ...]
    wall_ns: int | None
    devices: tuple[DeviceTime, ...]
    queues: tuple[DeviceTime, ...]
    hotspots: Hotspots
    domains: tuple[DomainTotal, ...]
    copies: tuple[CopyTotal, ...]
    sync: Sync
    gaps: Gaps
    launches: Launches
    families: Families
    steps: Steps
    slivers: Slivers
    steady_copies: SteadyCopies
    communication: Communication
    operators: Operators
    queue_lengths: tuple[QueueLength, ...]
    path: CriticalPath
    roofline: Roofline
    bottlenecks: Bottlenecks
    metrics: Metrics
    ranges: Ranges
    memory: Memory
    energy: Energy
    thread_trace: ThreadTrace
    pc_samples: PcSamples
    scorecard: tuple[Score, ...]
    sanity: tuple[Finding, ...]  # what cannot be true, or should not be trusted
    excerpts: tuple[Excerpt, ...]
    coverage: Coverage
    formulas: dict[str, str]
    projections: tuple[Projection, ...] = ()  # what the changes that findings propose would bring
    findings: tuple[Finding, ...] = ()  # what to do next, most time at stake first
    schema_version: int = SCHEMA_VERSION
