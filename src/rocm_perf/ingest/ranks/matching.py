"""Which collectives of two ranks are the same: those in the same turn, once it is known with which turn each recording
begins. Recordings may begin and end with different collectives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec
import numpy as np
import numpy.typing as npt

from rocm_perf.ingest.ranks.beside import Beside
from rocm_perf.ingest.ranks.fitting import Floats
from rocm_perf.ingest.ranks.members import ClockKinds, Member

NO_TURN = np.iinfo(np.int64).min
_MOST_CUT = 200  # collectives that one rank recorded before another began
_FEWEST_SHARED = 5
_CLEARLY = 2.0  # times better than the next best
_SURELY_NS = 1_000.0  # and by so much
_CELLS = 1 << 18  # collectives of as many members as are laid beside the reference at once


class Shift(msgspec.Struct, frozen=True):
    """A way to lay two sequences beside each other: turn i of the member is turn i + `by` of the other.
    `rhythm_ns`: by how much the times between their ends differ. `offset_ns`: between their clocks."""

    by: int
    rhythm_ns: float = 0.0
    offset_ns: float = 0.0


def turns_of(member: Member, reference: Member, shift: Shift) -> npt.NDArray[np.int64]:
    """The turn of each collective of a member, as the reference counts; NO_TURN where the two did something else."""
    turns = np.arange(member.count) + shift.by
    inside = (turns >= 0) & (turns < reference.count)
    other = reference.tokens[np.clip(turns, 0, reference.count - 1)]
    turns[inside & (other != member.tokens)] = NO_TURN
    return turns


def best_shifts(members: Sequence[Member], reference: Member, kinds: ClockKinds) -> list[Shift | None]:
    """For each member the shift under which its rhythm and that of the reference agree; where several do, the one under
    which their clocks agree. None if that does not decide either. Members are compared many at a time."""
    return [
        shift
        for alike in _of_one_length(members)
        for shift in _best_of_alike(alike, reference, _comparable(alike, reference, kinds))
    ]


def _of_one_length(members: Sequence[Member]) -> Iterator[list[Member]]:
    """Neighbours with as many collectives as each other, not too many at once."""
    for count, neighbours in groupby(members, key=lambda member: member.count):
        alike, most = list(neighbours), max(1, _CELLS // count)
        yield from (alike[start : start + most] for start in range(0, len(alike), most))


def _comparable(members: Sequence[Member], reference: Member, kinds: ClockKinds) -> npt.NDArray[np.bool_]:
    """Whether each clock and that of the reference show nearly the same: they are one, or both show dates."""
    return np.array(
        [
            member.node == reference.node or kinds[member.node] == kinds[reference.node] == "epoch"
            for member in members
        ]
    )


def _best_of_alike(
    members: Sequence[Member], reference: Member, comparable: npt.NDArray[np.bool_]
) -> list[Shift | None]:
    beside = Beside(members, reference)
    tried = _possible(members[0].count, reference.count)
    rhythms = np.stack([beside.rhythms(by) for by in tried], axis=1)
    best = rhythms.min(axis=1, keepdims=True)
    near = (rhythms <= _CLEARLY * best + _SURELY_NS) & np.isfinite(rhythms)
    # Where clocks cannot be compared, only these may be chosen.
    asked = near & (comparable[:, np.newaxis] | (rhythms == best) | (np.array(tried) == 0))
    offsets = np.stack([beside.offsets(by, rows) for by, rows in zip(tried, asked.T, strict=True)], axis=1)
    return [
        Shift(0)
        if member is reference
        else _chosen(
            [
                Shift(
                    by=tried[place],
                    rhythm_ns=float(rhythms[row, place]),
                    offset_ns=float(offsets[row, place]),
                )
                for place in _in_order(rhythms[row], near[row])
            ],
            is_comparable=bool(comparable[row]),
            is_whole=member.count == reference.count,
        )
        for row, member in enumerate(members)
    ]


def _in_order(rhythms: Floats, near: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The places that are near the best, best first."""
    places = np.flatnonzero(near)
    return places[np.argsort(rhythms[places], kind="stable")]


def _chosen(rivals: Sequence[Shift], *, is_comparable: bool, is_whole: bool) -> Shift | None:
    """The best of shifts that are hardly worse than the first."""
    if len(rivals) < 2:
        return next(iter(rivals), None)
    if is_comparable:
        return min(rivals, key=lambda shift: abs(shift.offset_ns))
    return next((shift for shift in rivals if is_whole and shift.by == 0), None)


def _possible(count: int, reference: int) -> list[int]:
    """Every shift under which two sequences share half of the shorter one."""
    shorter = min(count, reference)
    cut = min(shorter - min(shorter, max(_FEWEST_SHARED, shorter // 2)), _MOST_CUT)
    ends = sorted((0, reference - count))
    return _shifts(ends[0] - cut, ends[1] + cut)


def _shifts(first: int, last: int) -> list[int]:
    """The shifts to try: all near either end."""
    if last - first <= 4 * _MOST_CUT:
        return list(range(first, last + 1))
    near = 2 * _MOST_CUT
    return [*range(first, first + near), *range(last - near, last + 1)]
