"""Which elements of two sequences belong together, in their order: near-linear, whatever the sequences are.

Equal keys are paired by how often they have occurred, the first with the first, and the longest chain of pairs that
rises on both sides is kept (patience sorting: Schensted 1961); the same then happens between the pairs of the chain.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

Element = TypeVar("Element")
Key = Callable[[Element], Hashable | None]  # None: it is nobody's like
Pair = tuple[int, int]  # a place on each side
_Keys = Sequence[Hashable | None]

_DEEPEST = 32  # how often the stretches between pairs are looked at again


class Stretch(NamedTuple):
    """The places from `base` to `base_end` of one side, and what they are set against on the other."""

    base: int
    base_end: int
    new: int
    new_end: int

    @property
    def is_two_sided(self) -> bool:
        return self.base < self.base_end and self.new < self.new_end


def align(base: Sequence[Element], new: Sequence[Element], keys: Sequence[Key[Element]]) -> list[Pair]:
    """Pairs of places with equal keys, rising on both sides: by the first key, then between those by the next."""
    pairs: list[Pair] = []
    whole = Stretch(0, len(base), 0, len(new))
    for key in keys:
        mine, theirs = [key(one) for one in base], [key(one) for one in new]
        stretches = [stretch for stretch in between(pairs, whole) if stretch.is_two_sided]
        pairs = sorted([*pairs, *_chains(mine, theirs, stretches)])
    return pairs


def between(pairs: Sequence[Pair], within: Stretch) -> Iterator[Stretch]:
    """What lies between the pairs, where that is anything at all on either side."""
    ends = [(within.base - 1, within.new - 1), *pairs, (within.base_end, within.new_end)]
    for (left, right), (next_left, next_right) in pairwise(ends):
        if next_left > left + 1 or next_right > right + 1:
            yield Stretch(left + 1, next_left, right + 1, next_right)


def _chains(base: _Keys, new: _Keys, stretches: Sequence[Stretch]) -> Iterator[Pair]:
    """The pairs of equal keys within the stretches, and again within what is left between them."""
    for _ in range(_DEEPEST):
        chains = [(stretch, _chain(base, new, stretch)) for stretch in stretches]
        for _, chain in chains:
            yield from chain
        rest = [part for stretch, chain in chains if chain for part in between(chain, stretch)]
        stretches = [part for part in rest if part.is_two_sided]


def _chain(base: _Keys, new: _Keys, within: Stretch) -> list[Pair]:
    """The longest rising chain of the pairs of equal keys in the stretch."""
    places: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place in reversed(range(within.new, within.new_end)):
        places[new[place]].append(place)
    keyed = (place for place in range(within.base, within.base_end) if base[place] is not None)
    pairs = [(place, like.pop()) for place in keyed if (like := places.get(base[place]))]
    return _longest_rising(pairs)


def _longest_rising(pairs: Sequence[Pair]) -> list[Pair]:
    """The most of these pairs, which rise on the first side, that rise on the second too."""
    tops: list[int] = []  # the lowest second place that ends a chain of each length,
    ends: list[int] = []  # and which pair that is
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(tops, place)
        before.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [place]
        ends[length : length + 1] = [number]
    chain: list[Pair] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]
