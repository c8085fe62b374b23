"""How alike two sequences of kernels are, and several of them laid into one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from operator import eq

Content = tuple[int, ...]
ALIKE = 0.85  # of the kernels of two layers agree, in order
ALIKE_AT_END = 0.8  # of those of the first or last layer: what comes before and behind is fused with it
_KEPT = 1 << 14


def alike(one: Content, other: Content, *, least: float = ALIKE) -> bool:
    """Whether two layers are of one make: equal but for a few kernels."""
    if one == other or _agree_in_place(one, other) >= least:
        return True
    return _shared(one, other) >= least and likeness(one, other) >= least


def at_most_alike(window: Content, content: Content) -> float:
    """How alike to the content a part of the window can be, by all that both have in any order: found out long before
    they are laid beside one another."""
    both = _shared(window, content) * (len(window) + len(content)) / 2
    return 2 * both / max(1.0, len(content) + both)


@lru_cache(maxsize=_KEPT)
def likeness(one: Content, other: Content) -> float:
    """Share of the kernels of both that agree, in order."""
    return 1.0 if one == other else _matcher(one, other).ratio()


def _agree_in_place(one: Content, other: Content) -> float:
    """Share of the kernels of both that agree place by place; 0 where they are not of one length."""
    return sum(map(eq, one, other)) / len(one) if one and len(one) == len(other) else 0.0


@lru_cache(maxsize=_KEPT)
def _shared(one: Content, other: Content) -> float:
    """Share of the kernels of both that agree in any order: never less, and found out sooner."""
    return 2 * (Counter(one) & Counter(other)).total() / max(1, len(one) + len(other))


def agreeing_start(window: Content, content: Content) -> Content:
    """As much of the window as ends with a kernel of the content."""
    blocks = _matcher(window, content).get_matching_blocks()
    return window[: max((block.a + block.size for block in blocks if block.size), default=0)]


def agreeing_end(window: Content, content: Content) -> Content:
    """As much of the window as begins with a kernel of the content."""
    blocks = _matcher(window, content).get_matching_blocks()
    return window[min((block.a for block in blocks if block.size), default=len(window)) :]


def _matcher(one: Content, other: Content) -> SequenceMatcher[int]:
    return SequenceMatcher(None, one, other, autojunk=False)


def common_order(contents: Sequence[Content]) -> tuple[Content, list[list[int]]]:
    """One sequence that holds all of these in their order, and for each of them the places of its elements in it. What
    two have in common, in order, has one place."""
    codes: list[int] = []  # of each place, as places are made
    order: list[int] = []
    taken: list[list[int]] = []
    for content in contents:
        places: list[int] = []
        merged: list[int] = []
        matcher = _matcher(tuple(codes[place] for place in order), content)
        for tag, start, end, own_start, own_end in matcher.get_opcodes():
            merged += order[start:end]
            if tag == "equal":
                places += order[start:end]
                continue
            added = list(range(len(codes), len(codes) + own_end - own_start))
            codes += content[own_start:own_end]
            places += added
            merged += added
        order = merged
        taken.append(places)
    final = {place: number for number, place in enumerate(order)}
    return tuple(codes[place] for place in order), [[final[place] for place in places] for places in taken]
