"""Layers in a sequence of kernels: stretches in which nearly the same kernels come again and again.

A layer begins wherever one kernel, or one kernel behind a certain other, recurs; the parts between are layers if they
are alike. Of all such ways to cut, the one counts that has the most layers, equal ones first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median

from rocm_perf.analysis.layers.alikeness import (
    ALIKE_AT_END,
    Content,
    agreeing_end,
    agreeing_start,
    alike,
    at_most_alike,
    likeness,
)

FEWEST_LAYERS = 3
FEWEST_KERNELS, MOST_KERNELS = 4, 500  # of a layer: fewer over and over are a loop, more are a whole step
LEAST_EQUAL = 0.5  # of the layers of a stack are equal to others
_LEAST_SHARE = 0.02  # of the step, for one stack of layers
_INSIDE_CALL = 0.5  # of a call of a model its layers take at least
_AS_LONG = 0.95  # of the longest stretch: of those, the most layers count
_LENGTHS = (0.6, 1.6)  # of the usual distance: parts of other lengths are not alike
_LONGER = 1.25  # of the usual length: a layer at an end
_CANDIDATES, _EACH = 128, 16  # cuts that are tried: in all, and into as many layers
_SHIFTS = 24  # of a cut that are tried: those that promise most
_WINDOWS = 4  # at an end in which a first or last layer is looked for
_SINGLES = 32  # parts that are like no other and yet compared: where there are more, nothing repeats


@dataclass(frozen=True)
class Stack:
    """Layers that follow one another: `borders` are where each begins, and where the last ends."""

    borders: tuple[int, ...]

    @property
    def layers(self) -> int:
        return len(self.borders) - 1

    def contents(self, codes: Content) -> list[Content]:
        """The kernels of each layer."""
        return [codes[start:end] for start, end in pairwise(self.borders)]


def stacks(codes: Content, weights: Sequence[float], essential: Set[int] = frozenset()) -> list[Stack]:
    """The stacks of layers in a sequence, in their order. `weights`: the time of each kernel; `essential`: kernels
    that layers run, and loops inside of a layer do not."""
    sequence = _Sequence(codes, list(accumulate(weights, initial=0.0)), essential)
    return list(_within(sequence, 0, len(codes)))


@dataclass(frozen=True)
class _Sequence:
    """The kernels, the time `before` each, and which of them are essential."""

    codes: Content
    before: Sequence[float]
    essential: Set[int]

    def lasts(self, start: int, end: int) -> float:
        """The time of a part."""
        return self.before[end] - self.before[start]

    def has_layers(self, stack: Stack) -> bool:
        """Whether the parts of a stack are layers, and no loop inside of one."""
        return not self.essential.isdisjoint(self.codes[stack.borders[0] : stack.borders[-1]])


def _within(sequence: _Sequence, start: int, end: int, most: int = MOST_KERNELS) -> Iterator[Stack]:
    """The longest stack of a part, with those before and behind it, of layers with so many kernels at most."""
    stack = _longest(sequence.codes[start:end], sequence.before[start : end + 1], most)
    if stack is None:
        return
    borders = tuple(start + border for border in stack.borders)
    if sequence.lasts(borders[0], borders[-1]) < _LEAST_SHARE * sequence.before[-1]:
        return
    yield from _within(sequence, start, borders[0], most)
    yield from _of_calls(sequence, borders) or [Stack(borders)]
    yield from _within(sequence, borders[-1], end, most)


def _of_calls(sequence: _Sequence, borders: Sequence[int]) -> list[Stack]:
    """The stacks inside of what is not layers but calls of a whole model; none where it is layers."""
    shorter = min(end - start for start, end in pairwise(borders)) // FEWEST_LAYERS
    inside = list(_within(sequence, borders[0], borders[-1], shorter)) if shorter >= FEWEST_KERNELS else []
    layers = [stack for stack in inside if sequence.has_layers(stack)]
    spent = sum(sequence.lasts(stack.borders[0], stack.borders[-1]) for stack in layers)
    return inside if spent and spent >= _INSIDE_CALL * sequence.lasts(borders[0], borders[-1]) else []


def _longest(codes: Content, before: Sequence[float], most: int) -> Stack | None:
    """Of the stacks that last nearly longest, the one with most layers, most of them equal."""
    best = _best(codes, before, _candidates(codes, before, most))
    if best is None or len(set(best.contents(codes))) == 1:
        return best
    return _best(codes, before, [list(best.borders), *_promising(_shifted(best, len(codes)), codes)])


def _shifted(stack: Stack, end: int) -> Iterator[list[int]]:
    """The same layers, begun some kernels earlier or later: what recurs need not be where a layer begins."""
    begins = stack.borders[1:-1]
    length = begins[1] - begins[0]
    for shift in range(1 - length, length):
        yield [begin + shift for begin in begins if 0 <= begin + shift < end]


def _promising(candidates: Iterable[list[int]], codes: Content) -> list[list[int]]:
    """Of ways to cut those that promise most layers, most of them equal."""
    return sorted(candidates, key=lambda begins: _promise(begins, codes), reverse=True)[:_SHIFTS]


def _promise(begins: list[int], codes: Content) -> tuple[int, int]:
    """How many layers there may be, with one at each end, and how many are equal."""
    parts = [codes[start:end] for start, end in pairwise(begins)]
    if not parts:
        return 0, 0
    usual = Counter(parts).most_common(1)[0][0]
    ends = (codes[max(0, begins[0] - len(usual)) : begins[0]], codes[begins[-1] : begins[-1] + len(usual)])
    return len(parts) + sum(at_most_alike(end, usual) >= ALIKE_AT_END for end in ends), _equal(parts)


def _best(codes: Content, before: Sequence[float], candidates: Iterable[list[int]]) -> Stack | None:
    tried = [stack for begins in candidates if len(begins) > 1 and (stack := _stack(codes, begins))]
    lasting = [before[stack.borders[-1]] - before[stack.borders[0]] for stack in tried]
    enough = _AS_LONG * max(lasting, default=0.0)
    long = [stack for stack, lasts in zip(tried, lasting, strict=True) if lasts >= enough]
    most = max((_merit(stack, codes) for stack in long), default=None)
    best = [stack for stack in long if _merit(stack, codes) == most]
    return best[0] if len(best) == 1 else max(best, key=lambda stack: _fit(stack, codes), default=None)


def _equal(contents: Sequence[Content]) -> int:
    """How many layers are equal to others."""
    return sum(count for count in Counter(contents).values() if count > 1)


def _merit(stack: Stack, codes: Content) -> tuple[int, int]:
    """How good a way to cut it is: layers, and how many are equal to others."""
    return stack.layers, _equal(stack.contents(codes))


def _fit(stack: Stack, codes: Content) -> tuple[float, int]:
    """Of ways that are as good, which is better: how alike those layers are that are equal to none, and how early."""
    counts = Counter(stack.contents(codes))
    several = [content for content, count in counts.items() if count > 1]
    single = [content for content, count in counts.items() if count == 1]
    nearest = (max((likeness(one, other) for other in several), default=0.0) for one in single)
    return round(sum(nearest), 6), -stack.borders[0]


def _candidates(codes: Content, before: Sequence[float], most: int) -> list[list[int]]:
    """Where layers may begin, by each mark that recurs regularly; those over the longest time first."""
    runs = (_regular(begins, most) for begins in _marks(codes) if len(begins) >= FEWEST_LAYERS - 1)
    lasting = [(before[run[-1]] - before[run[0]], run) for run in runs if len(run) >= FEWEST_LAYERS - 1]
    lasting.sort(key=lambda pair: (-pair[0], pair[1][0]))
    counts: Counter[int] = Counter()
    chosen = []
    for _, run in lasting:
        counts[len(run)] += 1
        if counts[len(run)] <= _EACH:
            chosen.append(run)
    return chosen[:_CANDIDATES]


def _marks(codes: Content) -> Iterator[list[int]]:
    """The places of each kernel, and of each that stands behind a certain other."""
    places: dict[object, list[int]] = defaultdict(list)
    for place, code in enumerate(codes):
        places[code].append(place)
    for place, pair in enumerate(pairwise(codes), start=1):
        places[pair].append(place)
    return iter(places.values())


def _regular(begins: list[int], most: int) -> list[int]:
    """The longest run of places that are about as far from one another as is usual for them, and not too far."""
    distances = [later - earlier for earlier, later in pairwise(begins)]
    usual = median(distances)
    least, farthest = max(FEWEST_KERNELS, _LENGTHS[0] * usual), min(most, _LENGTHS[1] * usual)
    start, end = _longest_run([least <= distance <= farthest for distance in distances])
    return begins[start : end + 1] if end > start else []


def _longest_run(passes: Sequence[bool]) -> tuple[int, int]:
    """Where the longest run of elements that pass begins and ends."""
    best, start = (0, 0), 0
    for place, passed in enumerate([*passes, False]):
        if passed:
            continue
        best = max(best, (start, place), key=lambda run: run[1] - run[0])
        start = place + 1
    return best


def _stack(codes: Content, begins: list[int]) -> Stack | None:
    """The layers that begin at these places, as far as they are alike; None if too few are. A first or last layer that
    is a little different belongs to them."""
    parts = [codes[start:end] for start, end in pairwise(begins)]
    start, end = _longest_run(_like_the_usual(parts))
    if start == end:
        return None
    kinds = [content for content, _ in Counter(parts[start:end]).most_common()]
    first, last = _first(codes, begins[start], kinds), _last(codes, begins[end], kinds)
    borders = (begins[start] - first, *begins[start : end + 1], begins[end] + last)
    stack = Stack(tuple(dict.fromkeys(borders)))
    equal = _equal(stack.contents(codes)) >= LEAST_EQUAL * stack.layers
    return stack if equal and stack.layers >= FEWEST_LAYERS else None


def _like_the_usual(parts: Sequence[Content]) -> list[bool]:
    """Whether each part is like the most frequent one."""
    counts = Counter(parts)
    usual, most = counts.most_common(1)[0]
    singles = sum(count == 1 for count in counts.values())
    if most == 1 or singles > _SINGLES:
        counts = Counter({part: count for part, count in counts.items() if count > 1})
    fits = {part for part in counts if alike(part, usual)}
    return [part in fits for part in parts]


def _first(codes: Content, end: int, kinds: Sequence[Content]) -> int:
    """How many kernels before a place are a layer of one of the kinds; 0 if none is."""
    windows = [(kind, codes[max(0, end - length) : end]) for kind in kinds for length in _lengths(kind)]
    return _most_alike([(kind, agreeing_end(window, kind)) for kind, window in _likeliest(windows)])


def _last(codes: Content, start: int, kinds: Sequence[Content]) -> int:
    """How many kernels from a place on are a layer of one of the kinds; 0 if none is."""
    windows = [(kind, codes[start : start + length]) for kind in kinds for length in _lengths(kind)]
    return _most_alike([(kind, agreeing_start(window, kind)) for kind, window in _likeliest(windows)])


def _likeliest(windows: Sequence[tuple[Content, Content]]) -> list[tuple[Content, Content]]:
    """The kinds with the windows that may hold a layer of them, the likeliest first."""
    rated = [(at_most_alike(window, kind), kind, window) for kind, window in windows]
    likely = sorted((one for one in rated if one[0] >= ALIKE_AT_END), key=lambda one: -one[0])
    return [(kind, window) for _, kind, window in likely[:_WINDOWS]]


def _lengths(kind: Content) -> tuple[int, int]:
    """How long a layer at an end may be that lacks kernels, or has some more."""
    return len(kind), round(_LONGER * len(kind))


def _most_alike(pairs: Sequence[tuple[Content, Content]]) -> int:
    """The length of the part that is most like its kind."""
    similar = [
        (likeness(kind, part), len(part)) for kind, part in pairs if alike(kind, part, least=ALIKE_AT_END)
    ]
    return max(similar, default=(0.0, 0))[1]
