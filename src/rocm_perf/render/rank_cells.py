"""What a cell of the map of ranks shows: what the rank does most of that time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from rocm_perf.model.results.ranks import RankRow

State = Literal["computing", "waiting", "communicating", "idle"]
STATES: dict[State, str] = {
    "computing": "computes",
    "waiting": "waits in a collective for the last rank",
    "communicating": "transfers",
    "idle": "is idle",
}


def states(row: RankRow, cells: int) -> list[State]:
    """The state of each of so many cells, over which the bins of the row are shared out."""
    bins = len(row.computing)
    edges = [bins * place // cells for place in range(cells + 1)]
    return [_state(row, first, max(last, first + 1)) for first, last in pairwise(edges)]


def _state(row: RankRow, first: int, last: int) -> State:
    """What takes most of the bins from `first` to before `last`."""
    shares: dict[State, float] = {
        "computing": _mean(row.computing[first:last]),
        "waiting": _mean(row.waiting[first:last]),
        "communicating": _mean(row.communicating[first:last]),
    }
    shares["idle"] = 100 - sum(shares.values())
    return max(shares, key=lambda state: shares[state])


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)
