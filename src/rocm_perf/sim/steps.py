"""The parts of a workload: kernels, and the steps of host threads. workload.py reads them from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Size = tuple[int, int, int]

DTYPES = ("f64", "f32", "f16", "bf16", "f8", "i8")
LEVELS = ("hbm", "l2", "lds")
DEFAULT_STREAM = "default"
WIDE_SYNCS = ("stream", "device")  # any other sync names an event


@dataclass(frozen=True)
class Kernel:
    """A kernel: how much it computes and moves, or how long it takes."""

    name: str
    flops: Mapping[str, float] = field(default_factory=dict)
    bytes: Mapping[str, float] = field(default_factory=dict)
    matrix: bool = False
    duration_us: float | None = None
    grid: Size = (1024, 1, 1)
    workgroup: Size = (256, 1, 1)
    vgprs: int = 32
    agprs: int = 0
    sgprs: int = 32
    lds_bytes: int = 0
    scratch_bytes: int = 0
    lds_conflicts: float = 0.0  # LDS cycles lost to bank conflicts, for each useful one
    speedup: float = 1.0  # what-if: the same work in less time

    @property
    def workgroups(self) -> int:
        """The number of workgroups in the grid."""
        count = 1
        for total, size in zip(self.grid, self.workgroup, strict=True):
            count *= -(-total // size)
        return count


@dataclass(frozen=True)
class Step:
    """One thing that a host thread does."""

    verb: str
    what: str = ""
    stream: str = DEFAULT_STREAM
    size_bytes: int = 0
    duration_us: float = 0.0
    times: int = 1
    pinned: bool = True
    blocking: bool = False
    steps: tuple[Step, ...] = ()
    line: int = field(default=0, compare=False, repr=False)  # in its file; 0 without a file

    @property
    def event(self) -> str | None:
        """The event that the step waits for; None if it does not wait for one."""
        if self.verb == "wait" or (self.verb == "sync" and self.what not in WIDE_SYNCS):
            return self.what
        return None


@dataclass(frozen=True)
class Thread:
    """One host thread of one process."""

    name: str
    rank: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Workload:
    """A whole workload."""

    name: str
    kernels: Mapping[str, Kernel]
    graphs: Mapping[str, tuple[Step, ...]]
    threads: tuple[Thread, ...]
    seed: int = 0
    noise: float = 0.0
    command: str = ""
    slow_links: Mapping[int, float] = field(
        default_factory=dict
    )  # how many times slower the link into a rank is
    end_spread_us: float = 0.0  # mean time by which a rank ends a collective after the others

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of all threads, each once, in order."""
        return tuple(sorted({thread.rank for thread in self.threads}))


def in_order(steps: tuple[Step, ...]) -> Iterator[Step]:
    """The steps in the order in which they run, with loops unrolled."""
    for step in steps:
        if step.verb == "repeat":
            for _ in range(step.times):
                yield from in_order(step.steps)
        else:
            yield step


def written(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Every step once, in the order in which it first runs."""
    for step in steps:
        if step.verb == "repeat":
            yield from written(step.steps)
        else:
            yield step
