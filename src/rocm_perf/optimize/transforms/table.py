"""Every transform, and which are tried against a cause in which order."""

from __future__ import annotations

from rocm_perf.optimize.candidate import Candidate, Cause, Refused
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.transforms import (
    block_size,
    compiler_options,
    fast_math,
    launch_bounds,
    lds_padding,
    restrict,
    unroll,
    unroll_by_hand,
    vector_loads,
)
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Transform

TRANSFORMS: tuple[Transform, ...] = (
    unroll.TRANSFORM,
    unroll_by_hand.TRANSFORM,
    restrict.TRANSFORM,
    launch_bounds.TRANSFORM,
    block_size.TRANSFORM,
    vector_loads.TRANSFORM,
    lds_padding.TRANSFORM,
    fast_math.TRANSFORM,
    compiler_options.TRANSFORM,
)


def ordered(cause: Cause) -> tuple[Transform, ...]:
    """The transforms that help against a cause, the most promising first."""
    helping = [each for each in TRANSFORMS if cause in each.ranks]
    return tuple(sorted(helping, key=lambda each: each.ranks[cause]))


def proposals(source: Source, kernel: Kernel, setting: Setting) -> tuple[list[Candidate], list[Refused]]:
    """What all transforms propose for a kernel, in the order in which it is tried, and what they refuse."""
    candidates: list[Candidate] = []
    refused: list[Refused] = []
    for transform in ordered(setting.cause):
        proposed, against = transform.candidates(source, kernel, setting)
        candidates += proposed
        refused += against
    return candidates, refused
