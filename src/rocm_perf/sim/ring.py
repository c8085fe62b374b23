"""When each rank of a ring all-reduce ends if one of the links is slower than the others.

Each of n ranks receives 2(n-1) pieces from the rank before it and hands them on, a piece once the one before it has
been received, at most `_SLOTS` pieces ahead of its neighbour. With equal links all ranks end together. Behind a slow
link they do not: its receiver ends last, each rank after that a little earlier.
"""

from __future__ import annotations

from functools import cache

_SLOTS = (
    8  # NCCL_STEPS: pieces that the buffer between two ranks holds (NCCL and RCCL, src/include/nccl_common.h)
)


@cache
def ring_ends(slowness: tuple[float, ...]) -> tuple[float, ...]:
    """The end of each rank, in units of the time that the ring takes with equal links. `slowness` is how many times
    longer a piece takes over the link into each rank."""
    count = len(slowness)
    steps = 2 * (count - 1)
    if steps <= 0 or max(slowness) == min(slowness):
        return slowness
    received = [[0.0] * count]
    posted = [[0.0] * count]
    for step in range(1, steps + 1):
        posted.append([_posted(received, posted, step, rank) for rank in range(count)])
        received.append(
            [max(posted[step][rank - 1], received[-1][rank]) + slowness[rank] for rank in range(count)]
        )
    return tuple(max(last, handed) / steps for last, handed in zip(received[-1], posted[-1], strict=True))


def _posted(received: list[list[float]], posted: list[list[float]], step: int, rank: int) -> float:
    """When a rank hands its piece of this step to the next one: it has the piece, and the buffer has room."""
    after = (rank + 1) % len(received[0])
    freed = step - _SLOTS + 1  # the next rank frees a slot by handing that piece on
    return max(received[step - 1][rank], posted[freed][after] if freed > 0 else 0.0)
