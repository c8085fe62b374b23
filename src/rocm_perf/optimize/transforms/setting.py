"""What is known about a kernel when changes of it are proposed: why it is slow, where it runs, how it was launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from rocm_perf.model.vendor import is_amd
from rocm_perf.optimize.candidate import Cause


@dataclass(frozen=True)
class Pointer:
    """A pointer argument of a captured dispatch."""

    address: int
    allocation: int | None  # the base address of the allocation it points into; None: not known

    def is_aligned(self, size_bytes: int) -> bool:
        """Whether the address is a multiple of a size."""
        return self.address % size_bytes == 0


@dataclass(frozen=True)
class CapturedLaunch:
    """A dispatch that was captured: its block, and what the parameters held, by name."""

    block: tuple[int, int, int]
    values: Mapping[str, int | float] = field(default_factory=dict)
    pointers: Mapping[str, Pointer] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """Everything but the text that a transform may rely on."""

    cause: Cause
    arch: str  # "gfx942", "sm_90"
    wave: int  # work-items of a wave or warp
    allow_fast_math: bool = False
    launches: tuple[CapturedLaunch, ...] = ()
    bank_conflicts: float | None = None  # share of the LDS cycles lost to them, from counters
    flags: tuple[str, ...] = ()  # with which the original is compiled

    @property
    def is_amd(self) -> bool:
        """Whether it is compiled for a GPU of AMD."""
        return is_amd(self.arch)

    @property
    def block_items(self) -> int | None:
        """Work-items of the largest block that was captured."""
        return max((prod(each.block) for each in self.launches), default=None)
