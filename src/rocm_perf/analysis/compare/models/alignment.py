"""The GPU work of two sides set against each other: call by call where the operator tree and shapes agree, stretch by
stretch between such calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from rocm_perf.analysis.compare.models.calls import GpuCall, gpu_ns, is_alike, leading_shapes
from rocm_perf.analysis.compare.models.fusions import (
    is_by_hand,
    is_fused,
    may_do,
    segment_of,
    shared_out,
    stands_for,
    takes_in,
)
from rocm_perf.analysis.compare.models.sequences import Key, Stretch, align, between
from rocm_perf.model.results.alignment import WorkFate

Calls = tuple[GpuCall, ...]


@dataclass(frozen=True)
class Aligned:
    """Calls of base and those of new that do their work; none on a side that does not do it."""

    base: Calls
    new: Calls
    moved: bool = False  # it runs in another place of the step

    @property
    def calls(self) -> Calls:
        return self.base + self.new

    @cached_property
    def base_ns(self) -> int:
        return gpu_ns(self.base)

    @cached_property
    def new_ns(self) -> int:
        return gpu_ns(self.new)

    @cached_property
    def fate(self) -> WorkFate:
        """What became of the work of base."""
        if not self.base or not self.new:
            return "went" if self.base else "came"
        if not all(any(call.operator for call in side) for side in (self.base, self.new)):
            return _fate_of_kernels(self.base, self.new)
        if len(self.base) == len(self.new) == 1:
            return _fate_of_one(self.base[0], self.new[0])
        fewer, more = sorted((self.base, self.new), key=len)
        if len(fewer) < len(more) and (any(map(is_fused, fewer)) or is_by_hand(fewer, more)):
            return "fused" if fewer is self.new else "split"
        return "other operators"

    def flipped(self) -> Aligned:
        return replace(self, base=self.new, new=self.base)


def align_calls(base: Sequence[GpuCall], new: Sequence[GpuCall]) -> list[Aligned]:
    """Every call of either side once, in order. Both orders of the sides give the same pairs."""
    if [call.identity for call in new] < [call.identity for call in base]:
        return [one.flipped() for one in align_calls(new, base)]
    rows = [row for mine, theirs in _regions(base, new) for row in _within(mine, theirs)]
    return _with_moved(_taken_in(_taken_in(rows)[::-1])[::-1])


def _kernels(calls: Iterable[GpuCall]) -> Counter[str]:
    return Counter(name for call in calls for name in call.kernels)


def _fate_of_kernels(base: Calls, new: Calls) -> WorkFate:
    """What became of work whose operators one side does not tell."""
    if _kernels(base) == _kernels(new):
        return "same"
    families = [Counter(work.family for call in side for work in call.work) for side in (base, new)]
    return "other kernels" if families[0] == families[1] else "other operators"


def _fate_of_one(base: GpuCall, new: GpuCall) -> WorkFate:
    if base.plain_operator != new.plain_operator:
        return "other kernels" if takes_in(new, base) or takes_in(base, new) else "other operators"
    if not (is_alike(base.shapes, new.shapes) and is_alike(base.dtypes, new.dtypes)):
        return "other shapes"
    return "same" if base.kernels == new.kernels else "other kernels"


_Run = tuple[GpuCall, ...]  # what one call of an outermost operator launched

_OF_RUNS: tuple[Key[_Run], ...] = (
    lambda run: (run[0].module, run[0].outermost, leading_shapes(run[0].root_shapes)),
    lambda run: (run[0].outermost, leading_shapes(run[0].root_shapes)) if run[0].operator else None,
)
_OF_CALLS: tuple[Key[GpuCall], ...] = (
    lambda call: (call.module, call.plain_operator, call.size) if call.operator else None,
    lambda call: (call.plain_operator, call.size) if call.operator else None,
    lambda call: call.plain_operator,
    lambda call: call.kernels,
)
_OF_ANCHORS: tuple[Key[GpuCall], ...] = (lambda call: call.anchor,)


def _regions(base: Sequence[GpuCall], new: Sequence[GpuCall]) -> Iterator[tuple[Calls, Calls]]:
    """What outermost operators that both sides call launched, each against the other's, and what lies between."""
    mine, theirs = _runs(base), _runs(new)
    pairs = align(mine, theirs, _OF_RUNS)
    for stretch in _pieces(pairs, Stretch(0, len(mine), 0, len(theirs))):
        yield (
            _joined(mine[stretch.base : stretch.base_end]),
            _joined(theirs[stretch.new : stretch.new_end]),
        )


def _runs(calls: Sequence[GpuCall]) -> list[_Run]:
    numbered = ((-place if call.root is None else call.root + 1, call) for place, call in enumerate(calls, 1))
    return [tuple(call for _, call in run) for _, run in groupby(numbered, key=lambda pair: pair[0])]


def _joined(runs: Iterable[_Run]) -> Calls:
    return tuple(call for run in runs for call in run)


def _pieces(pairs: Sequence[tuple[int, int]], whole: Stretch) -> list[Stretch]:
    """The pairs, and the stretches between them, in order."""
    alone = [Stretch(left, left + 1, right, right + 1) for left, right in pairs]
    return sorted([*alone, *between(pairs, whole)])


def _within(base: Calls, new: Calls) -> Iterator[Aligned]:
    """The calls of a region, pair by pair and stretch by stretch."""
    inside = _is_one_operator(base, new)
    for mine, theirs in _parts(base, new, _OF_CALLS):
        if not mine or not theirs or _is_pair(mine, theirs):
            yield from _apart(mine, theirs, inside)
        elif inside and stands_for(*sorted((mine, theirs), key=len)):
            yield Aligned(mine, theirs)
        else:
            yield from _by_anchors(mine, theirs, inside)


def _by_anchors(base: Calls, new: Calls, inside: bool) -> Iterator[Aligned]:
    """A stretch of calls of other names: products, attention and their like are paired, others stand between them."""
    for mine, theirs in _parts(base, new, _OF_ANCHORS):
        if not mine or not theirs or _is_pair(mine, theirs):
            yield from _apart(mine, theirs, inside)
        else:
            yield from _shared_out(mine, theirs, inside)


def _parts(base: Calls, new: Calls, keys: Sequence[Key[GpuCall]]) -> Iterator[tuple[Calls, Calls]]:
    for stretch in _pieces(align(base, new, keys), Stretch(0, len(base), 0, len(new))):
        yield base[stretch.base : stretch.base_end], new[stretch.new : stretch.new_end]


def _is_pair(base: Calls, new: Calls) -> bool:
    return len(base) == len(new) == 1


def _is_one_operator(base: Calls, new: Calls) -> bool:
    """Whether each side is what one call of the same outer operator launched."""
    roots = [{call.root for call in side if call.around} for side in (base, new)]
    whole = all(call.around for call in (*base, *new)) and all(len(root) == 1 for root in roots)
    return whole and base[0].outermost == new[0].outermost


def _apart(base: Calls, new: Calls, inside: bool) -> Iterator[Aligned]:
    """Both sides against each other, but a product or its like of which nothing on the other side can do the work
    stands alone, unless both are `inside` one operator."""
    mine, went = (base, ()) if inside else _with_partners(base, new)
    theirs, came = (new, ()) if inside else _with_partners(new, base)
    rows = (
        Aligned(mine, theirs),
        *(Aligned((call,), ()) for call in went),
        *(Aligned((), (call,)) for call in came),
    )
    yield from (row for row in rows if row.calls)


def _with_partners(calls: Calls, others: Calls) -> tuple[Calls, Calls]:
    """The calls that have something on the other side, and those that have not."""
    kinds = {(one.operator, one.kernels): one for one in others}.values()
    lone = {
        place
        for place, call in enumerate(calls)
        if call.anchor and kinds and not any(may_do(one, call) for one in kinds)
    }
    numbered = list(enumerate(calls))
    return (
        tuple(call for place, call in numbered if place not in lone),
        tuple(call for place, call in numbered if place in lone),
    )


def _shared_out(base: Calls, new: Calls, inside: bool) -> Iterator[Aligned]:
    """A stretch as the fused kernels of the side with fewer calls, each with the calls that it names; as a whole where
    none is named."""
    if len(base) < len(new):
        yield from (one.flipped() for one in _shared_out(new, base, inside))
        return
    places = shared_out(base, new)
    if places is None:
        yield from _apart(base, new, inside)
        return
    for place, one in enumerate(new):
        yield from _around(tuple(call for call, at in zip(base, places, strict=True) if at == place), one)


def _around(calls: Calls, fused: GpuCall) -> Iterator[Aligned]:
    """The calls that the fused one may have taken in, from the first to the last such, against it; the rest alone."""
    first, last = segment_of(fused, calls)
    rows = (Aligned(calls[:first], ()), Aligned(calls[first:last], (fused,)), Aligned(calls[last:], ()))
    yield from (row for row in rows if row.calls)


def _taken_in(rows: Sequence[Aligned]) -> list[Aligned]:
    """The rows, but what stands alone belongs to the row before if that has it on the other side."""
    merged: list[Aligned] = []
    for row in rows:
        if merged and not (row.base and row.new) and _has(merged[-1], row):
            last = merged.pop()
            merged.append(Aligned(last.base + row.base, last.new + row.new))
        else:
            merged.append(row)
    return merged


def _has(neighbour: Aligned, alone: Aligned) -> bool:
    """Whether the neighbour's other side does what stands alone: a fused kernel that names all of it, or a call whose
    kernels no operator owns on this side, as in the replay of a graph."""
    mine, theirs = (neighbour.base, neighbour.new) if alone.base else (neighbour.new, neighbour.base)
    if any(all(takes_in(one, call) for call in alone.calls) for one in theirs):
        return True
    unowned = not any(call.operator for call in (*mine, *alone.calls))
    return unowned and bool(mine) and _kernels((*mine, *alone.calls)) <= _kernels(theirs)


def _with_moved(rows: Sequence[Aligned]) -> list[Aligned]:
    """The rows, but calls that went in one place and came in another are one; others of one side stand alone."""
    came: defaultdict[Hashable, list[GpuCall]] = defaultdict(list)
    for row in reversed(rows):
        for call in reversed(row.new) if not row.base else ():
            came[_what(call)].append(call)
    gone = [call for row in rows if not row.new for call in row.base]
    moved = [(call, like.pop() if (like := came.get(_what(call))) else None) for call in gone]
    return [
        *(row for row in rows if row.base and row.new),
        *(Aligned((call,), (other,), moved=True) if other else Aligned((call,), ()) for call, other in moved),
        *(Aligned((), (call,)) for like in came.values() for call in reversed(like)),
    ]


def _what(call: GpuCall) -> Hashable:
    return call.plain_operator or call.kernels, call.size, call.plain_module
