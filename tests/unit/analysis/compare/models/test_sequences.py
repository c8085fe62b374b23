"""Elements of two sequences that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.compare.models.sequences import Stretch, align, between


def paired(base: Sequence[str], new: Sequence[str]) -> list[str]:
    """The elements that are paired by themselves, then by their first letter."""
    pairs = align(base, new, (str, lambda one: one[0]))
    assert all(left < right and above < below for (left, above), (right, below) in pairwise(pairs))
    return [f"{base[left]}{new[right]}" for left, right in pairs]


def test_what_is_inserted_stands_alone() -> None:
    assert paired("abc", "abxc") == ["aa", "bb", "cc"]


def test_what_is_left_between_pairs_is_looked_at_again() -> None:
    """The second `a` of one side is the third of the other: by their numbers alone they would not fit between."""
    assert paired("abaca", "baaca") == ["bb", "aa", "cc", "aa"]


def test_a_wider_key_only_counts_between_pairs_of_a_narrower_one() -> None:
    assert paired(["a1", "b", "a2"], ["a3", "b", "a2"]) == ["a1a3", "bb", "a2a2"]
    assert paired(["a1", "b"], ["b", "a3"]) == ["bb"]


def test_the_rest_lies_between_the_pairs() -> None:
    pairs = align("xab", "aby", (str,))
    assert list(between(pairs, Stretch(0, 3, 0, 3))) == [Stretch(0, 1, 0, 0), Stretch(3, 3, 2, 3)]


def test_equal_layers_cost_no_more_than_others() -> None:
    """Near-linear: a quadratic way takes minutes for these."""
    base, new = list("abcdefgh" * 3_000), list("abcdxefgh" * 3_100)
    began = process_time()
    assert len(align(base, new, (str,))) == len(base)
    assert process_time() - began < 10


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_pairs_are_equal_and_rise(base: str, new: str) -> None:
    assert all(one[0] == one[1] for one in paired(base, new))


@given(st.text("abc", max_size=12))
def test_a_sequence_is_like_itself(text: str) -> None:
    assert len(paired(text, text)) == len(text)
