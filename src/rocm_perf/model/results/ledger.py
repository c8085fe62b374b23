"""The ledger: where the judged time of each GPU went, in entries that do not overlap and add up to it."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.units import format_ns

EntryKind = Literal["kernel", "communication", "copy", "fill", "idle"]
Certainty = Literal[
    "measured",  # the recording shows it: a kernel ran, the host was inside that call
    "inferred",  # it follows from what is nearby: the host was between two launches
    "unknown",  # nothing recorded says why
]
# What people read for each cause of time that no kernel takes.
CAUSES: dict[str, str] = {
    "waiting-for-gpu": "the host waits for the GPU",
    "waiting-for-copy": "the host waits for a copy",
    "launching": "the host prepares and launches kernels",
    "queue-gaps": "gaps between queued kernels",
    "loading-data": "the host loads data",
    "compiling": "code is compiled",
    "loading-code": "code is loaded for its first use",
    "first-use": "a call is slow the first time",
    "mpi": "the host is inside MPI",
    "allocating": "memory is allocated or freed",
    "host-work": "the host does something else",
    "other-calls": "the host is inside other calls",
    "stream-dependency": "a stream waits for another",
    "waiting-for-communication": "compute waits for communication",
    "unrecorded-work": "the GPU runs work that was not recorded",
    "not-recorded": "nothing recorded says why",
    "end-of-work": "nothing more was launched",
    "profiler": "the profiler's own time",
    "copying-to-gpu": "copies to the GPU",
    "copying-to-host": "copies to the host",
    "copying-within-gpu": "copies within a GPU",
    "copying-between-gpus": "copies between GPUs",
    "copying": "copies",
    "filling": "fills",
    "communicating": "communication with no computation beside it",
    "running": "kernels run",
}


_PARTS = 3  # of an entry that are told


class Entry(msgspec.Struct, frozen=True):
    """Time with one cause in one place."""

    kind: EntryKind
    cause: str  # a key of CAUSES; what limits a kernel stands with the kernel (results/limits.py)
    place: str  # kernel, call, range or function; empty where none is known
    total_ns: int
    count: int  # dispatches, copies, or idle intervals that it has a part in
    share: float  # of the judged time
    certainty: Certainty
    family: str = ""  # of a kernel
    parts: dict[str, int] = {}  # nanoseconds of what it consists of, where that is known: most first

    @property
    def evidence(self) -> tuple[str, ...]:
        """Return its largest parts in words."""
        return tuple(f"{format_ns(ns)} {name}" for name, ns in list(self.parts.items())[:_PARTS])


class GpuLedger(msgspec.Struct, frozen=True):
    """The judged time of one GPU. The entries add up to it."""

    node: int
    agent_id: int | None
    judged_ns: int
    entries: tuple[Entry, ...]  # most time first


class Ledger(msgspec.Struct, frozen=True):
    """The judged time of every GPU, and of all of them together."""

    judged_ns: int  # summed over the GPUs
    entries: tuple[Entry, ...]  # of all GPUs together, most time first: they add up to judged_ns
    gpus: tuple[GpuLedger, ...]
    idle_unknown: str | None = None  # why time outside of kernels and copies is left out
    unavailable: str | None = None

    def total_ns(self, *causes: str) -> int:
        """Return the time that these causes hold, on all GPUs together."""
        return sum(entry.total_ns for entry in self.entries if entry.cause in causes)

    @property
    def idle_ns(self) -> int:
        """Return the time in which GPUs ran nothing, on all GPUs together."""
        return sum(entry.total_ns for entry in self.entries if entry.kind == "idle")

    def of_one_gpu_ns(self, total_ns: int) -> int:
        """Return the part of a time of all GPUs together that one of them has."""
        return total_ns // max(len(self.gpus), 1)
