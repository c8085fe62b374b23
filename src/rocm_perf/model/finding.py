"""A finding: one thing that is worth a user's attention, with its evidence and the next step."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

Severity = Literal["info", "warning", "error"]
Kind = Literal[  # what a finding is about; None for doubts about the recording that conclude nothing
    "host-bound",  # the host launches too slowly
    "sync",  # the host waits for the GPU, and launches too late because of it
    "copies",
    "communication",
    "kernel",  # a kernel is the limit, and nothing says why
    "kernel-memory",
    "kernel-compute",
    "kernel-latency-or-occupancy",
    "lds-or-cache",
    "memory",  # it runs out, grows, or lies in pieces
    "startup",
    "unrecorded-work",  # what matters is not in the recording
    "nothing-to-gain",
    "cannot-tell",
]


_LEAST = 0.005  # of the judged time: what saves less is "1.00 times as fast"


def is_next_to_nothing(saved_ns: int, judged_ns: int) -> bool:
    """Whether saving so much of the judged time is not worth a line."""
    return saved_ns < max(1, _LEAST * judged_ns)


class Finding(msgspec.Struct, frozen=True):
    """What is wrong or worth knowing, how it is known, what it costs, what to do."""

    id: str
    severity: Severity
    title: str
    evidence: tuple[str, ...] = ()
    time_at_stake_ns: int | None = None
    projected_speedup: Quantity | None = None
    remedy: str = ""
    next_command: str = ""
    kind: Kind | None = None
