"""Two recordings of a model set against each other, operator by operator. Times are GPU times of a step or run, in
nanoseconds; differences are new minus base."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.results.wall_change import WallChange

WorkFate = Literal[
    "same",  # the same operator and kernels
    "other kernels",  # the same operator and shapes, by other kernels
    "other shapes",  # the same operator on other shapes or types
    "other operators",  # other operators between the same neighbours
    "fused",  # fewer calls that name themselves fused, in the place of more
    "split",  # the reverse
    "came",
    "went",
]


class AlignedWork(msgspec.Struct, frozen=True):
    """Calls of base and those of new that do their work, all of a step that are alike together."""

    fate: WorkFate
    base_operators: tuple[str, ...]  # or kernels, where no operator owns them; of one such place
    new_operators: tuple[str, ...]
    base_kernels: tuple[str, ...]
    new_kernels: tuple[str, ...]
    modules: tuple[str, ...]  # that it is called in, without numbers
    places: int  # how often it occurs in a step
    moved: int  # of these run in another place of the step
    base_ns: int
    new_ns: int
    difference_ns: int


class Share(msgspec.Struct, frozen=True):
    """What a module, operator or family takes on both sides."""

    name: str
    base_ns: int
    new_ns: int
    difference_ns: int


class AlignedSteps(msgspec.Struct, frozen=True):
    """The steps of a side that run the same calls, over which times are means."""

    alike: int
    of: int


class Alignment(msgspec.Struct, frozen=True):
    """The GPU work of a step (or run) on both sides. `work`, and the three views, each sum to the difference."""

    base_steps: AlignedSteps
    new_steps: AlignedSteps
    base_ns: int
    new_ns: int
    difference_ns: int
    work: tuple[AlignedWork, ...]  # largest difference first
    modules: tuple[Share, ...]
    operators: tuple[Share, ...]
    families: tuple[Share, ...]
    waterfall: WallChange  # of the wall, with its kernels by what became of them
    notes: tuple[str, ...]
