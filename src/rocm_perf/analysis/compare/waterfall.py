"""The difference of two walls as the sum of the differences of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

import msgspec

from rocm_perf.analysis.compare.runs import JudgedRun
from rocm_perf.analysis.compare.wall import GpuWall, leader
from rocm_perf.model.results.wall_change import WallChange, WallPart

_TITLES = {
    "kernels": "kernels running",
    "copies": "copies, no kernel running",
    "before_first": "host, before the first GPU work",
    "after_last": "host, after the last GPU work",
    "host_sync": "GPU idle: host synchronised",
    "host_api": "GPU idle: host in another call",
    "copy": "GPU idle: waiting for a copy",
    "framework": "GPU idle: host in Python or framework",
    "loading": "GPU idle: host loads data",
    "host_busy": "GPU idle: host between calls",
    "launch_latency": "GPU idle: launch latency",
    "event": "GPU idle: waiting for another stream",
    "collective": "GPU idle: waiting for a collective",
    "queue_gap": "GPU idle: between queued kernels",
    "unrecorded": "GPU busy with what was not recorded",
    "nothing_recorded": "GPU idle: cause not recorded",
}


class _UnitWall(msgspec.Struct, frozen=True):
    """One GPU of a side, and what each part takes of a step or run."""

    name: str
    node: int
    parts: dict[str, Fraction]


def waterfall(
    base: Sequence[JudgedRun], new: Sequence[JudgedRun]
) -> tuple[WallChange | None, tuple[WallChange, ...]]:
    """The change of the whole wall, measured on the busiest GPU of the longest node; and that of every GPU, matched by
    position where both sides have as many. Medians of parts would not sum to the median wall: the middle run's do."""
    middles = middle_runs(base), middle_runs(new)
    if not all(run.gpus for middle in middles for run in middle):
        return None, ()
    sides = [_averaged(middle) for middle in middles]
    leaders = [
        leader(middle[0].gpus) if len(side) > 1 else 0 for side, middle in zip(sides, middles, strict=True)
    ]
    if len(sides[0]) != len(sides[1]):
        return _change(sides[0][leaders[0]], sides[1][leaders[1]]), ()
    if all(len({gpu.node for gpu in side}) == 1 for side in sides):
        leaders[1] = leaders[0]
    gpus = tuple(_change(*pair) for pair in zip(*sides, strict=True))
    return _change(sides[0][leaders[0]], sides[1][leaders[1]]), gpus


def middle_runs(runs: Sequence[JudgedRun]) -> list[JudgedRun]:
    """The run with the median wall, or the two next to it."""
    ordered = sorted(runs, key=lambda run: run.wall_ns or 0)
    return ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]


def _averaged(runs: Sequence[JudgedRun]) -> tuple[_UnitWall, ...]:
    """Every GPU by its position; the leading one alone where the runs have different numbers of them."""
    alike = len({len(run.gpus) for run in runs}) == 1
    rows = [run.gpus if alike else (run.gpus[leader(run.gpus)],) for run in runs]
    return tuple(_mean(gpus, [run.units for run in runs]) for gpus in zip(*rows, strict=True))


def _mean(gpus: Sequence[GpuWall], units: Sequence[int]) -> _UnitWall:
    names = dict.fromkeys(name for gpu in gpus for name in gpu.parts)
    parts = {
        name: sum(
            (Fraction(gpu.parts.get(name, 0), count) for gpu, count in zip(gpus, units, strict=True)),
            Fraction(),
        )
        / len(gpus)
        for name in names
    }
    return _UnitWall(gpus[0].name, gpus[0].node, parts)


def _change(base: _UnitWall, new: _UnitWall) -> WallChange:
    names = list(dict.fromkeys((*base.parts, *new.parts)))
    before, after = (_rounded([gpu.parts.get(name, Fraction()) for name in names]) for gpu in (base, new))
    parts = [_part(*row) for row in zip(names, before, after, strict=True)]
    return WallChange(
        base_gpu=base.name,
        new_gpu=new.name,
        base_ns=sum(before),
        new_ns=sum(after),
        difference_ns=sum(after) - sum(before),
        parts=tuple(
            sorted(
                (part for part in parts if part.base_ns or part.new_ns),
                key=lambda part: (-abs(part.difference_ns), -part.base_ns),
            )
        ),
    )


def _rounded(values: Sequence[Fraction]) -> list[int]:
    """Whole nanoseconds that sum to the rounded sum: the running sums are rounded, not the values."""
    edges = [round(edge) for edge in accumulate(values, initial=Fraction())]
    return [end - start for start, end in pairwise(edges)]


def _part(name: str, base: int, new: int) -> WallPart:
    title = _TITLES.get(name, f"GPU idle: {name.replace('_', ' ')}")
    return WallPart(id=name, title=title, base_ns=base, new_ns=new, difference_ns=new - base)
