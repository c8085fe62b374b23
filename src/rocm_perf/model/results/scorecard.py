"""How a run compares with common targets."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

Verdict = Literal["met", "missed", "unknown"]


class Score(msgspec.Struct, frozen=True):
    """One value beside its target. `reason` says why the verdict is unknown."""

    id: str
    title: str
    value: Quantity
    target: str  # as text, with the number that decides
    verdict: Verdict
    source: str  # where the target comes from
    reason: str | None = None
