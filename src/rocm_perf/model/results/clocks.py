"""How well the clocks of several ranks were brought together."""

from __future__ import annotations

import msgspec


class RankClock(msgspec.Struct, frozen=True):
    """The clock of one process. Times of processes with one `domain` compare, to within their errors."""

    rank: int | None
    machine: str
    pid: int | None
    domain: int
    offset_ns: float  # that was added to its times
    drift_ppm: float  # by how much its clock was slow
    error_ns: float | None  # 95 % of the ends of its collectives differ by less from the median of all ranks
    collectives: int  # that the error rests on
    basis: str | None  # collectives, or shared: the clock of its machine, not moved
    reason: str | None = None  # why its clock could not be brought together with the others


class Clocks(msgspec.Struct, frozen=True):
    """The clocks of all ranks, or why there is nothing to compare. `error_ns` is the largest of those that agree,
    `apart` the number of those that do not."""

    rows: tuple[RankClock, ...] = ()
    error_ns: float | None = None
    apart: int = 0
    unavailable: str | None = None
