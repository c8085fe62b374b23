"""How a run, or a change, compares with common targets."""

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


class ScoreChange(msgspec.Struct, frozen=True):
    """One value before and after a change, beside the target for the latter."""

    id: str
    title: str
    base: Quantity  # the median over the runs of a side
    new: Quantity
    change: float | None  # of a share: new - base; of anything else: new / base - 1
    target: str
    verdict: Verdict
    source: str
    reason: str | None = None  # why a value or the verdict is missing


class Accuracy(msgspec.Struct, frozen=True):
    """Whether the outputs after a change equal those before it, as `rocm-perf ab --json` writes it."""

    correct: bool
    checked_calls: int
    largest_absolute_error: float | None
    largest_relative_error: float | None
    problems: tuple[str, ...] = ()
    failure: str = ""  # why not all calls were compared
