"""Two sequences laid beside each other so that as many elements as possible agree, in order."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_EDITS = 400  # sequences that differ in more are not the same graph, but for what is cut off at an end


def alignment(one: Sequence[int], other: Sequence[int]) -> list[int | None]:
    """For each element of `one`, the place of its counterpart in `other`; None where it has none. What both begin and
    end with is found at once; between, the longest common subsequence."""
    start = _common_length(one, other)
    rest = min(len(one), len(other)) - start
    end = _common_length(one[::-1][:rest], other[::-1][:rest])
    middle = _matches(one[start : len(one) - end], other[start : len(other) - end])
    shift = len(other) - len(one)
    places: list[int | None] = [None] * len(one)
    places[:start] = range(start)
    places[len(one) - end :] = range(len(one) - end + shift, len(other))
    for place, counterpart in middle:
        places[start + place] = start + counterpart
    return places


def _common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """How many elements both begin with."""
    differing = (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differing, min(len(one), len(other)))


def _matches(one: Sequence[int], other: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of a longest common subsequence; none where too much differs. Myers, An O(ND) Difference Algorithm
    (1986): `reached[k]` is how far into `one` a path on diagonal k (place in one - place in other) has come."""
    if not one or not other:
        return []
    reached = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(min(len(one) + len(other), _MOST_EDITS) + 1):
        history.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            place = _step(reached, diagonal, edits)
            while (
                place < len(one) and place - diagonal < len(other) and one[place] == other[place - diagonal]
            ):
                place += 1
            reached[diagonal] = place
            if place >= len(one) and place - diagonal >= len(other):
                return _backwards(history, len(one), len(other))
    return []


def _step(reached: dict[int, int], diagonal: int, edits: int) -> int:
    """Where a path on a diagonal goes on after one more edit: from the neighbour that came further."""
    down = diagonal == -edits or (
        diagonal != edits and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
    )
    return reached[diagonal + 1] if down else reached[diagonal - 1] + 1


def _backwards(history: list[dict[int, int]], place: int, counterpart: int) -> list[tuple[int, int]]:
    """The pairs on the path that led to the ends of both sequences, the last first."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        diagonal = place - counterpart
        begun = _step(history[edits], diagonal, edits)
        while place > begun and counterpart > 0 and place > 0:
            place, counterpart = place - 1, counterpart - 1
            pairs.append((place, counterpart))
        if edits:
            from_below = begun == history[edits].get(diagonal + 1)
            place, counterpart = (
                (begun, begun - diagonal - 1) if from_below else (begun - 1, begun - diagonal)
            )
    return pairs
