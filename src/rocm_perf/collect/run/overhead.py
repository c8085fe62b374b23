"""What profiling cost: wall times of the whole program without the profiler beside those with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Run = TypeVar("Run")


def interleaved(profiled: Sequence[Run], count: int) -> list[Run | None]:
    """The profiled runs with `count` unprofiled ones (None) around the first, whose times are reported, so that a
    machine that slows down or a cache that fills does not look like overhead."""
    if not profiled:
        return []
    before = count // 2
    return [*[None] * before, profiled[0], *[None] * (count - before), *profiled[1:]]
