"""Packs groups of counters into the fewest passes that the slots of each block allow. A counter that two groups of one
pass share takes one slot. Groups of one counter fill the slots left over, so only larger ones need a search."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence

import msgspec

Counters = frozenset[str]

_MOST_STEPS = 100_000  # of the search, about a second


class Slots(msgspec.Struct, frozen=True):
    """The block in which each counter takes a slot, and the number of slots of each block."""

    block_of: Mapping[str, str]
    of_block: Mapping[str, int]

    def used(self, counters: Iterable[str]) -> Mapping[str, int]:
        """How many slots of each block the counters take."""
        return Tally(self.block_of[counter] for counter in counters)

    def overfull(self, counters: Iterable[str]) -> list[str]:
        """The blocks that cannot hold them all in one pass."""
        return sorted(block for block, count in self.used(counters).items() if count > self.of_block[block])

    def fit(self, counters: Iterable[str]) -> bool:
        """Whether one pass can hold them all."""
        return not self.overfull(counters)


class Packing(msgspec.Struct, frozen=True):
    """The counters of each pass; `fewest` if no smaller number of passes is enough."""

    passes: tuple[Counters, ...]
    fewest: bool


def pack(groups: Iterable[Counters], slots: Slots, most_steps: int | None = None) -> Packing:
    """Passes with every group whole in at least one of them. Each group must fit in a pass of its own."""
    large, single = _sorted(groups, slots)
    least = _least(large, single, slots)
    most_steps = most_steps or _MOST_STEPS
    search = _Search(large, single, slots, most_steps)
    for count in range(least, len(large) + len(single) + 1):
        passes = search.packed(count)
        if passes is not None:
            return Packing(passes, fewest=True)
        if search.steps > most_steps:
            break
    return (
        Packing(_greedy(large, single, slots), fewest=False) if large or single else Packing((), fewest=True)
    )


def _sorted(groups: Iterable[Counters], slots: Slots) -> tuple[list[Counters], list[str]]:
    """Groups that no other group contains, the tightest first; and the single counters."""
    distinct = sorted(set(groups), key=lambda group: (-_tightness(group, slots), -len(group), sorted(group)))
    outer = [group for group in distinct if group and not any(group < other for other in distinct)]
    large = [group for group in outer if len(group) > 1]
    return large, sorted(counter for group in outer if len(group) == 1 for counter in group)


def _tightness(group: Counters, slots: Slots) -> float:
    return max((count / slots.of_block[block] for block, count in slots.used(group).items()), default=0)


def _least(large: Sequence[Counters], single: Sequence[str], slots: Slots) -> int:
    """A lower bound for the passes: each counter needs a slot once."""
    needed = slots.used(frozenset(single).union(*large))
    return max((-(-count // slots.of_block[block]) for block, count in needed.items()), default=0)


def _spare(passes: Sequence[Counters], single: Sequence[str], count: int, slots: Slots) -> bool:
    """Whether `count` passes, which already hold `passes`, have room for the single counters still missing."""
    taken: Tally[str] = Tally()
    for counters in passes:
        taken.update(slots.used(counters))
    waiting = slots.used(frozenset(single).difference(*passes))
    return all(taken[block] + more <= count * slots.of_block[block] for block, more in waiting.items())


class _Search:
    """A depth-first search that places group by group, trying each pass in turn."""

    def __init__(
        self, large: Sequence[Counters], single: Sequence[str], slots: Slots, most_steps: int
    ) -> None:
        self._most_steps = most_steps
        self._large = large
        self._single = single
        self._slots = slots
        self.steps = 0

    def packed(self, count: int) -> tuple[Counters, ...] | None:
        """A packing into `count` passes, or None if there is none or the search would take too long."""
        passes = self._place(0, (), count)
        if passes is None:
            return None
        empty = [frozenset[str]()] * (count - len(passes))
        return _filled([*passes, *empty], self._single, self._slots)

    def _place(self, at: int, passes: tuple[Counters, ...], count: int) -> tuple[Counters, ...] | None:
        self.steps += 1
        if self.steps > self._most_steps or not _spare(passes, self._single, count, self._slots):
            return None
        if at == len(self._large):
            return passes
        group = self._large[at]
        tried: set[Counters] = set()
        for index in range(min(len(passes) + 1, count)):
            merged = (passes[index] if index < len(passes) else frozenset()) | group
            if merged in tried or not self._slots.fit(merged):
                continue
            tried.add(merged)
            packing = self._place(at + 1, (*passes[:index], merged, *passes[index + 1 :]), count)
            if packing is not None:
                return packing
        return None


def _greedy(large: Sequence[Counters], single: Sequence[str], slots: Slots) -> tuple[Counters, ...]:
    """A packing that puts each group, the tightest first, into the first pass with room."""
    passes: list[Counters] = []
    for group in large:
        at = next((i for i, counters in enumerate(passes) if slots.fit(counters | group)), None)
        if at is None:
            passes.append(group)
        else:
            passes[at] |= group
    while not _spare(passes, single, len(passes), slots):
        passes.append(frozenset())
    return _filled(passes, single, slots)


def _filled(passes: Sequence[Counters], single: Sequence[str], slots: Slots) -> tuple[Counters, ...]:
    """The passes with the single counters added where a slot is left."""
    filled = list(passes)
    for counter in single:
        if not any(counter in counters for counters in filled):
            at = next(i for i, counters in enumerate(filled) if slots.fit(counters | {counter}))
            filled[at] |= {counter}
    return tuple(filled)
