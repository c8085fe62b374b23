"""The same number for one collective on all its ranks."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.ingest.ranks.matching import NO_TURN, Shift, best_shifts, turns_of
from rocm_perf.ingest.ranks.members import ClockKinds, Member, groups_of

_MOST_TRIES = 3  # members that may turn out to be the odd one
_IN_STEP_NS = 100_000.0


def numbered(tokens: pl.DataFrame, kinds: ClockKinds) -> pl.DataFrame:
    """`row` and `turn_id` of every collective that at least two members of its group took part in."""
    groups = [members for members in groups_of(tokens) if _is_one_group(members)]
    frames = [_group_turns(members, number, kinds) for number, members in enumerate(groups)]
    turns = pl.concat([_NONE, *frames])
    shared = turns.filter(pl.len().over("group_number", "turn") > 1)
    return shared.select(
        "row", pl.struct("group_number", "turn").rank("dense").cast(pl.Int64).alias("turn_id")
    )


_NONE = pl.DataFrame(schema={"row": pl.Int64, "turn": pl.Int64, "group_number": pl.Int64})


def _is_one_group(members: list[Member]) -> bool:
    """Whether the members are one group rather than several with one name."""
    size = members[0].group_size
    return size is None or len(members) <= size


def _group_turns(members: list[Member], number: int, kinds: ClockKinds) -> pl.DataFrame:
    """The turns of all members of a group, as one that most of them are in step with counts them."""
    tries = (_in_step_with(reference, members, kinds) for reference in members[:_MOST_TRIES])
    step = next((step for step in tries if step.is_common), None) or _in_step_with(members[0], members, kinds)
    frames = [
        _turns(member, step.reference, shift)
        for member, shift in zip(members, step.shifts, strict=True)
        if shift is not None
    ]
    return pl.concat(frames).with_columns(group_number=pl.lit(number, pl.Int64))


class _Step(msgspec.Struct, frozen=True):
    """How the members of a group lie beside one of them."""

    reference: Member
    shifts: tuple[Shift | None, ...]

    @property
    def is_common(self) -> bool:
        """Whether most of the others are in step with it: else it may be the odd one."""
        others = [shift for shift in self.shifts if shift != Shift(0)]
        in_step = [shift for shift in others if shift and shift.rhythm_ns <= _IN_STEP_NS]
        return 2 * len(in_step) >= len(others)


def _in_step_with(reference: Member, members: list[Member], kinds: ClockKinds) -> _Step:
    return _Step(reference, tuple(best_shifts(members, reference, kinds)))


def _turns(member: Member, reference: Member, shift: Shift) -> pl.DataFrame:
    turns = turns_of(member, reference, shift)
    known = turns != NO_TURN
    return pl.DataFrame({"row": member.rows[known], "turn": turns[known]})
