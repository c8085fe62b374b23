"""Which collectives of two ranks are the same: those in the same turn, once it is known with which turn each recording
begins. Recordings may begin and end with different collectives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rocm_perf.ingest.ranks.members import ClockKinds, Member

NO_TURN = np.iinfo(np.int64).min
_MOST_CUT = 200  # collectives that one rank recorded before another began
_FEWEST_EQUAL = 0.8  # of the collectives that two ranks share must be of one kind
_FEWEST_SHARED = 5
_MOST_COMPARED = 2000  # collectives in the middle that decide
_CLEARLY = 2.0  # times better than the next best
_SURELY_NS = 1_000.0  # and by so much


@dataclass(frozen=True)
class Shift:
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


def best_shift(member: Member, reference: Member, kinds: ClockKinds) -> Shift | None:
    """The shift under which the rhythms of both agree; where several do, the one under which their clocks agree. None
    if that does not decide either."""
    if member is reference:
        return Shift(0)
    shifts = sorted(_possible(member, reference), key=lambda shift: shift.rhythm_ns)
    if not shifts:
        return None
    best = shifts[0]
    rivals = [shift for shift in shifts[1:] if shift.rhythm_ns <= _CLEARLY * best.rhythm_ns + _SURELY_NS]
    if not rivals:
        return best
    if _comparable(member, reference, kinds):
        return min((best, *rivals), key=lambda shift: abs(shift.offset_ns))
    whole = [shift for shift in (best, *rivals) if shift.by == 0 and member.count == reference.count]
    return whole[0] if whole else None


def _comparable(member: Member, reference: Member, kinds: ClockKinds) -> bool:
    """Whether the two clocks show nearly the same: they are one, or both show dates."""
    return member.node == reference.node or kinds[member.node] == kinds[reference.node] == "epoch"


def _possible(member: Member, reference: Member) -> list[Shift]:
    """Every shift under which the two share half of the shorter one, and did mostly the same there."""
    shorter = min(member.count, reference.count)
    cut = min(shorter - min(shorter, max(_FEWEST_SHARED, shorter // 2)), _MOST_CUT)
    ends = sorted((0, reference.count - member.count))
    shifts = (_shift(member, reference, by) for by in _shifts(ends[0] - cut, ends[1] + cut))
    return [shift for shift in shifts if shift is not None]


def _shifts(first: int, last: int) -> list[int]:
    """The shifts to try: all near either end."""
    if last - first <= 4 * _MOST_CUT:
        return list(range(first, last + 1))
    near = 2 * _MOST_CUT
    return [*range(first, first + near), *range(last - near, last + 1)]


def _shift(member: Member, reference: Member, by: int) -> Shift | None:
    mine, other = _overlap(member.count, reference.count, by)
    equal = member.tokens[mine] == reference.tokens[other]
    if not len(equal) or equal.mean() < _FEWEST_EQUAL:
        return None
    apart = (reference.ends[other] - member.ends[mine])[equal]
    rhythm = float(np.median(np.abs(np.diff(apart)))) if len(apart) > 1 else 0.0
    between = int(reference.end_ns[0]) - int(member.end_ns[0])
    return Shift(by=by, rhythm_ns=rhythm, offset_ns=between + float(np.median(apart)))


def _overlap(count: int, reference: int, by: int) -> tuple[slice, slice]:
    """What both have under a shift, at most so many in the middle."""
    first, last = max(0, -by), min(count, reference - by)
    spare = max(0, last - first - _MOST_COMPARED) // 2
    first, last = first + spare, last - spare
    return slice(first, last), slice(first + by, last + by)
