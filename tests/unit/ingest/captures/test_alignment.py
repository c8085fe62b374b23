"""Sequences laid beside each other: as many elements as possible agree, in order."""

from __future__ import annotations

from random import Random

from rocm_perf.ingest.captures.alignment import alignment


def _longest_common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """By the textbook's table, which is slow and plain."""
    row = [0] * (len(other) + 1)
    for left in one:
        before = row
        row = [0]
        for place, right in enumerate(other):
            row.append(before[place] + 1 if left == right else max(before[place + 1], row[place]))
    return row[-1]


def test_one_that_is_missing_leaves_the_others_in_their_places() -> None:
    layers = [1, 2, 3, 4] * 36 + [5]
    assert alignment(layers[:50] + layers[51:], layers) == [*range(50), *range(51, 145)]


def test_what_is_cut_off_at_the_end_costs_nothing() -> None:
    assert alignment(list(range(100_000)), list(range(3))) == [0, 1, 2, *[None] * 99_997]


def test_what_only_one_has_is_left_out_on_both_sides() -> None:
    assert alignment([1, 9, 2, 3], [1, 2, 8, 3]) == [0, None, 1, 3]


def test_it_is_a_longest_common_subsequence() -> None:
    random = Random(17)
    for _ in range(300):
        one, other = (tuple(random.choices(range(4), k=random.randint(0, 14))) for _ in range(2))
        places = alignment(one, other)
        pairs = [(place, match) for place, match in enumerate(places) if match is not None]
        assert all(one[place] == other[match] for place, match in pairs)
        assert [match for _, match in pairs] == sorted({match for _, match in pairs})
        assert len(pairs) == _longest_common(one, other)
