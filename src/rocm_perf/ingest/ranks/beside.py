"""Collectives of many ranks laid beside those of one, by any shift: how well their rhythms agree, and how far their
clocks are apart. All ranks are compared at once: a job has thousands, and hundreds of shifts are tried for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rocm_perf.ingest.ranks.fitting import Floats
from rocm_perf.ingest.ranks.members import Member

_FEWEST_EQUAL = 0.8  # of the collectives that two ranks share must be of one kind
_MOST_COMPARED = 2000  # collectives in the middle that decide

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Beside:
    """Members with as many collectives as each other, one per row, beside a reference."""

    def __init__(self, members: Sequence[Member], reference: Member) -> None:
        self._reference = reference
        self._tokens = np.array([member.tokens for member in members])
        self._ends = np.array([member.ends for member in members])
        first = int(reference.end_ns[0])
        self._between = np.array([float(first - int(member.end_ns[0])) for member in members])

    def rhythms(self, by: int) -> Floats:
        """By how much the times between the ends differ, as the median of each row; infinite where the two did mostly
        something else."""
        rhythms = np.full(len(self._ends), np.inf)
        for rows, apart in self._apart(by, np.ones(len(self._ends), dtype=bool)):
            rhythms[rows] = np.median(np.abs(np.diff(apart)), axis=1) if apart.shape[1] > 1 else 0.0
        return rhythms

    def offsets(self, by: int, asked: Mask) -> Floats:
        """How far the clocks of the rows that are asked for are apart, as the median; infinite for the others."""
        offsets = np.full(len(self._ends), np.inf)
        for rows, apart in self._apart(by, asked):
            offsets[rows] = self._between[rows] + np.median(apart, axis=1)
        return offsets

    def _apart(self, by: int, asked: Mask) -> Iterator[tuple[Rows, Floats]]:
        """How far the ends of collectives of one kind are apart, for rows that differ from the reference at the same
        places: ranks of a group do the same, so that these are few batches."""
        mine, other = _overlap(self._ends.shape[1], self._reference.count, by)
        places = np.flatnonzero(asked)
        equal = self._tokens[places, mine] == self._reference.tokens[other]
        for rows, mask in _by_mask(places, equal):
            if mask.size and mask.mean() >= _FEWEST_EQUAL:
                apart = self._reference.ends[other] - self._ends[rows, mine]
                yield rows, apart if mask.all() else apart[:, mask]


def _by_mask(rows: Rows, masks: Mask) -> Iterator[tuple[Rows, Mask]]:
    """Rows with equal masks, and that mask."""
    if len(rows) and (masks == masks[0]).all():
        yield rows, masks[0]
        return
    places: dict[bytes, list[int]] = {}
    for place, mask in enumerate(masks):
        places.setdefault(mask.tobytes(), []).append(place)
    for alike in places.values():
        yield rows[alike], masks[alike[0]]


def _overlap(count: int, reference: int, by: int) -> tuple[slice, slice]:
    """What both have under a shift, at most so many in the middle."""
    first, last = max(0, -by), min(count, reference - by)
    spare = max(0, last - first - _MOST_COMPARED) // 2
    first, last = first + spare, last - spare
    return slice(first, last), slice(first + by, last + by)
