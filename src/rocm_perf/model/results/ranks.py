"""Ranks of one job beside each other: who waits in collectives, for whom, and why that one is late."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.whatif import Projection

Class = Literal["transfer", "arrival skew", "mixed", "inconclusive"]
Cause = Literal[
    "compute",  # its kernels take longer, or it runs more of them
    "data loader",  # its GPU is idle while its host fetches the next batch
    "host",  # its GPU is idle while its host does something else
    "copies",  # its copies take longer
    "slow link",  # it arrives with the others, and the bytes take longer to reach it
]
CAUSES: tuple[Cause, ...] = ("compute", "data loader", "host", "copies", "slow link")


class CollectiveClasses(msgspec.Struct, frozen=True):
    """All collectives of one name and group that several ranks took part in, and the class of each."""

    name: str
    group: str | None
    calls: int
    ranks: int  # that took part, at most
    waited_ns: int  # from each arrival to the last, mean over the ranks, summed over the collectives
    transfer_ns: int  # from the last arrival to the end, median over the ranks, summed over the collectives
    transfer: int  # collectives of each class
    arrival_skew: int
    mixed: int
    inconclusive: int


class RankTime(msgspec.Struct, frozen=True):
    """Where the time of one rank goes: the six parts sum to the time that is looked at."""

    rank: str  # "rank 3", or "GPU 3" where ranks are not recorded
    node: int
    computing_ns: int  # kernels that do not communicate
    copying_ns: int
    waiting_ns: int  # in a collective, before the last rank has come, with nothing beside it
    communicating_ns: int  # in a collective, after that, with nothing beside it
    loading_ns: int  # the GPU is idle, the host fetches data
    idle_ns: int  # the GPU is idle otherwise
    delayed_ns: int  # what the others lost by its late arrivals
    last_in: int  # collectives that it entered last
    collectives: int  # that it took part in


class Straggler(msgspec.Struct, frozen=True):
    """Ranks that the others wait for, for one reason."""

    ranks: tuple[str, ...]
    cause: Cause | None
    reason: str | None  # why the cause is not known
    delayed_ns: int  # what the others lost by them
    last_in: int  # collectives that one of them entered last, or left last where a link is slow
    collectives: int  # that were compared
    chance: float  # that equal ranks would look like this
    evidence: tuple[str, ...]
    repair: Projection | None  # the run with them as fast as the others, re-timed
    command: str  # options of `rocm-perf whatif` that say so


class RankRow(msgspec.Struct, frozen=True):
    """The shares of one rank's time in each bin, in percent: what they leave of 100 is idle."""

    rank: str
    computing: tuple[int, ...]
    waiting: tuple[int, ...]
    communicating: tuple[int, ...]


class HeatMap(msgspec.Struct, frozen=True):
    """What ranks do over time. Where there are many, neighbours share a row."""

    start_ns: int
    bin_ns: int
    rows: tuple[RankRow, ...]


class Ranks(msgspec.Struct, frozen=True):
    """The ranks of one job on one clock."""

    rows: tuple[RankTime, ...]  # those that cost most first
    collectives: tuple[CollectiveClasses, ...]  # longest first
    stragglers: tuple[Straggler, ...]  # that cost most first; none where ranks are equal
    map: HeatMap | None
    waited_share: Quantity  # of the ranks' time
    clock_error_ns: float | None  # the largest over the ranks; None where they share one clock
    unavailable: str | None = None
