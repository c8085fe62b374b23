"""Ranks are matched many at a time, each as it would be alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from rocm_perf.ingest.ranks import matching
from rocm_perf.ingest.ranks.matching import Shift, best_shifts
from rocm_perf.ingest.ranks.members import Member

COUNT = 40
KINDS = {0: "boot", 1: "boot", 2: "epoch", 3: "epoch"}


def _member(
    places: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], tokens: npt.NDArray[np.int64], node: int = 0
) -> Member:
    """What a rank recorded of the collectives at these places."""
    end_ns = ends[places]
    return Member(
        node=node,
        group_size=None,
        rows=places,
        tokens=tokens[places],
        start_ns=end_ns - 100,
        end_ns=end_ns,
    )


def _members(seed: int) -> list[Member]:
    """Ranks that begin and end elsewhere, some without some collectives, on clocks that differ."""
    draw = np.random.default_rng(seed)
    ends = np.cumsum(draw.integers(10_000, 2_000_000, COUNT))
    tokens = draw.choice(3, COUNT, p=(0.9, 0.05, 0.05))
    members = []
    for node in (0, 0, 1, 2, 3, 3, 1, 0):
        places = np.arange(draw.integers(0, 4), COUNT - draw.integers(0, 4))
        whole = draw.random(len(places)) > draw.choice((0.0, 0.04))
        late = draw.integers(0, 2_000, COUNT) + int(draw.choice((0, 5_000_000)))
        members.append(_member(places[whole], ends + late, tokens, node))
    return members


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cells", [1, 2 * COUNT, 1 << 18])
def test_a_rank_is_matched_among_others_as_alone(
    seed: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "_CELLS", cells)
    members = sorted(_members(seed), key=lambda member: -member.count)
    together = best_shifts(members, members[0], KINDS)
    assert together == [best_shifts([member], members[0], KINDS)[0] for member in members]
    assert together[0] == Shift(0)
    assert sum(shift is not None for shift in together) > len(members) / 2


def test_a_rank_that_began_later_is_shifted_by_what_it_lacks() -> None:
    ends = np.cumsum(np.random.default_rng(1).integers(10_000, 2_000_000, COUNT))
    tokens = np.zeros(COUNT, dtype=np.int64)
    whole, later = (_member(np.arange(first, COUNT), ends, tokens) for first in (0, 7))
    assert best_shifts([whole, later], whole, KINDS) == [Shift(0), Shift(by=7)]


def test_even_rhythms_are_told_apart_by_clocks_that_can_be_compared_or_by_their_length() -> None:
    ends = np.arange(1, COUNT + 1) * 1_000_000
    tokens = np.zeros(COUNT, dtype=np.int64)
    every = np.arange(COUNT)
    reference, same_clock, other_clock, cut_off = (
        _member(every, ends, tokens),
        _member(every[3:], ends, tokens),
        _member(every, ends + 7_000_000, tokens, node=1),
        _member(every[3:], ends, tokens, node=1),
    )
    shifts = best_shifts([reference, other_clock, same_clock, cut_off], reference, KINDS)
    assert [shift and shift.by for shift in shifts] == [0, 0, 3, None]


def test_ranks_that_did_something_else_are_not_matched() -> None:
    ends = np.cumsum(np.random.default_rng(2).integers(10_000, 2_000_000, COUNT))
    one, other = (_member(np.arange(COUNT), ends, np.full(COUNT, token)) for token in (0, 1))
    assert best_shifts([one, other], one, KINDS) == [Shift(0), None]
