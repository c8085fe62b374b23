"""The projected effect of a change."""

from __future__ import annotations

import msgspec

from rocm_perf.model.quantity import Quantity


class Projection(msgspec.Struct, frozen=True):
    """What the recording would have taken with the change made, and what that rests on."""

    change: str
    wall_ns: int
    recorded_wall_ns: int
    saved_ns: int
    speedup: Quantity
    assumptions: tuple[str, ...]
