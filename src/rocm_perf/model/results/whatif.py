"""The projected effect of a change."""

from __future__ import annotations

import msgspec

from rocm_perf.model.quantity import Quantity


class Projection(msgspec.Struct, frozen=True):
    """How long the recorded run would take with the change, and what that assumes."""

    change: str
    wall_ns: int
    recorded_wall_ns: int
    saved_ns: int
    speedup: Quantity
    assumptions: tuple[str, ...]
    profiler_ns: int = 0  # of the recorded wall: what the profiler added, which is not counted as saved

    @property
    def unprofiled_wall_ns(self) -> int:
        """What the change is measured against."""
        return self.recorded_wall_ns - self.profiler_ns
