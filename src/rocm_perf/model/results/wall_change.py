"""The difference of two wall times as the sum of the differences of its parts, in nanoseconds, new minus base."""

from __future__ import annotations

import msgspec


class WallPart(msgspec.Struct, frozen=True):
    """One part of the wall time, as one GPU saw it."""

    id: str
    title: str
    base_ns: int
    new_ns: int
    difference_ns: int


class WallChange(msgspec.Struct, frozen=True):
    """The wall time of one GPU's node in the middle run of each side (the mean of the middle two where their number is
    even), cut into parts that sum to it. Largest difference first."""

    base_gpu: str
    new_gpu: str
    base_ns: int
    new_ns: int
    difference_ns: int
    parts: tuple[WallPart, ...]
