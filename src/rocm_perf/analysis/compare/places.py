"""Kernels whose names changed, recognised by what they do, how large they are launched, and where in a step they run.

Its place is between two kernels that both sides have, its anchors, as the first, second, ... of so many of its family.
A library that picks another tile changes the name and the grid, but not the place; a new template argument changes
neither. Fused kernels have fewer of their family beside them, and so are nobody's successor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import polars as pl

from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.compare.runs import JudgedRun
from rocm_perf.analysis.time.hotspots import hotspots
from rocm_perf.analysis.time.kernel_family import OTHER, family
from rocm_perf.model.results.comparison import Match

_LONGEST = 4_096  # kernels of a sequence that are looked at, where nothing says how long a step is
_ALIKE = 0.5  # of the launches of both kernels agree
_GRID = [f"{what}_{axis}" for what in ("grid", "workgroup") for axis in "xyz"]

Traits = dict[str, Counter[Hashable]]  # of each name: how often each of its traits occurs


@dataclass(frozen=True)
class Places:
    """The kernels of one side, and where its first run launches them."""

    runs: tuple[JudgedRun, ...]

    @cached_property
    def names(self) -> list[str]:
        """Every kernel of any run, longest total of the first run that has it first."""
        rows = (spot.kernel for run in self.runs for spot in hotspots(run.trace).rows)
        return list(dict.fromkeys(rows))

    @cached_property
    def sequence(self) -> pl.DataFrame:
        """The kernels of one step of one GPU in the order in which they ran, with their grids."""
        run = self.runs[0]
        ordered = timed_dispatches(run.trace).sort("start_ns", maintain_order=True)
        if not ordered.height:
            return ordered.select("kernel", *_GRID)
        gpu = (
            ordered.group_by("node", "agent_id", maintain_order=True)
            .len()
            .sort("len", descending=True)
            .head(1)
        )
        own = ordered.join(gpu, on=["node", "agent_id"], how="semi", nulls_equal=True, maintain_order="left")
        length = round(own.height / run.steps) if run.steps else _LONGEST
        return own.select("kernel", *_GRID).head(min(length, _LONGEST))

    def grids(self) -> Traits:
        """How often each kernel is launched with each grid."""
        return _counted((kernel, tuple(grid)) for kernel, *grid in self.sequence.iter_rows() if any(grid))

    def positions(self, anchors: Mapping[str, int]) -> Traits:
        """How often each kernel without an anchor of its own is at each place."""
        return _counted(self._placed(anchors))

    def _placed(self, anchors: Mapping[str, int]) -> Iterator[tuple[str, Hashable]]:
        """Each kernel between two anchors: which ones, and the how-manieth of how many of its family it is there."""
        before: int | None = None
        between: list[str] = []
        for kernel in self.sequence["kernel"]:
            if kernel not in anchors:
                between.append(kernel)
                continue
            yield from _within(between, (before, anchors[kernel]))
            before, between = anchors[kernel], []
        yield from _within(between, (before, None))


def _within(kernels: Sequence[str], anchors: tuple[int | None, int | None]) -> Iterator[tuple[str, Hashable]]:
    kinds = [family(kernel).name for kernel in kernels]
    totals, ordinals = Counter(kinds), Counter[str]()
    for kernel, kind in zip(kernels, kinds, strict=True):
        yield kernel, (anchors, ordinals[kind], totals[kind])
        ordinals[kind] += 1


def pair_by_place(
    base: Places, new: Places, unpaired: tuple[Sequence[str], Sequence[str]], anchors: Mapping[str, int]
) -> list[tuple[str, str, Match]]:
    """Pairs among the unpaired names; the surest first, each name in one pair at most."""
    left, right = map(list, unpaired)
    if not left or not right:
        return []
    positions = base.positions(anchors), new.positions(anchors)
    grids = base.grids(), new.grids()
    rules: tuple[tuple[Match, list[tuple[Traits, Traits]]], ...] = (
        ("family, grid and position", [positions, grids]),
        ("family and position", [positions]),
        ("family and grid", [grids]),
    )
    pairs: list[tuple[str, str, Match]] = []
    for how, traits in rules:
        comparable = partial(_is_comparable, sure=len(traits) > 1)
        for one, other in agreeing(left, right, traits, comparable):
            left.remove(one)
            right.remove(other)
            pairs.append((one, other, how))
    return pairs


def agreeing(
    left: Sequence[str],
    right: Sequence[str],
    traits: list[tuple[Traits, Traits]],
    comparable: Callable[[str, str], bool],
) -> list[tuple[str, str]]:
    """Comparable pairs that agree in all traits, where neither name agrees as well with another one."""
    agreement = {
        pair: min(_agreement(mine.get(pair[0]), theirs.get(pair[1])) for mine, theirs in traits)
        for pair in _sharing(left, right, *traits[0])
        if comparable(*pair)
    }
    best = [_only_best(agreement, side) for side in (0, 1)]
    return [pair for pair, share in agreement.items() if share >= _ALIKE and all(pair in one for one in best)]


def _sharing(
    left: Sequence[str], right: Sequence[str], mine: Traits, theirs: Traits
) -> Iterator[tuple[str, str]]:
    """Pairs that have a trait in common."""
    owners: dict[Hashable, list[str]] = {}
    for name in right:
        for trait in theirs.get(name, ()):
            owners.setdefault(trait, []).append(name)
    for name in left:
        others = dict.fromkeys(other for trait in mine.get(name, ()) for other in owners.get(trait, ()))
        yield from ((name, other) for other in others)


def _only_best(agreement: Mapping[tuple[str, str], float], side: int) -> set[tuple[str, str]]:
    """For each kernel of that side the pair that agrees best, unless two do."""
    pairs: dict[str, list[tuple[float, tuple[str, str]]]] = {}
    for pair, share in agreement.items():
        pairs.setdefault(pair[side], []).append((share, pair))
    ranked = (sorted(rivals, reverse=True) for rivals in pairs.values())
    return {rivals[0][1] for rivals in ranked if len(rivals) == 1 or rivals[0][0] > rivals[1][0]}


def _is_comparable(one: str, other: str, *, sure: bool) -> bool:
    """Whether both do the same; kernels that no rule knows need more than one trait."""
    kind = family(one).name
    return kind == family(other).name and (sure or kind != OTHER.name)


def _agreement(one: Counter[Hashable] | None, other: Counter[Hashable] | None) -> float:
    """The share of launches, of the kernel with more of them, that have their like on the other side."""
    if not one or not other:
        return 0.0
    return (one & other).total() / max(one.total(), other.total())


def _counted(traits: Iterator[tuple[str, Hashable]]) -> Traits:
    counts: Traits = {}
    for kernel, trait in traits:
        counts.setdefault(kernel, Counter())[trait] += 1
    return counts
