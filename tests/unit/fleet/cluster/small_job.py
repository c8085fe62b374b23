"""A small job, and a worker that does not end with its last rank."""

from __future__ import annotations

from threading import Event

from rocm_perf.analysis.reduction.tables import Tables
from rocm_perf.fleet.cluster.ranks import RankFiles
from rocm_perf.fleet.cluster.work import contribute

RANKS = 4
released = Event()  # ends what takes for ever


def contribute_or_hang(rank: RankFiles, memory_bytes: int | None, version: str) -> Tables:
    """As a worker does it, but for the last rank, which takes for ever."""
    if rank.place == RANKS - 1:
        released.wait(60)
    return contribute(rank, memory_bytes, version)
