"""A finding: one thing that is worth a user's attention, with its evidence and the next step."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

Severity = Literal["info", "warning", "error"]


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
