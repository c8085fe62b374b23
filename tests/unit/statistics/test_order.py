"""The chance that one of equals is as late as it was."""

from __future__ import annotations

from itertools import product
from math import comb

import pytest

from rocm_perf.statistics.order import chance_of_lasts, chance_of_places


def test_small_rounds_are_counted() -> None:
    sizes = (3, 2, 4)
    outcomes = [sum(places) for places in product(*(range(1, size + 1) for size in sizes))]
    for total in range(3, 11):
        counted = sum(outcome >= total for outcome in outcomes) / len(outcomes)
        assert chance_of_places(total, sizes) == pytest.approx(counted)


def test_always_the_last_of_four_six_times() -> None:
    assert chance_of_places(24, [4] * 6) == pytest.approx(4**-6)


def test_many_rounds_are_nearly_normal() -> None:
    total = 51 * 4.5 + 40  # above the mean, of 8 equals
    exact, normal = chance_of_places(total - 5, [8] * 50), chance_of_places(total, [8] * 51)
    assert normal == pytest.approx(exact, rel=0.2)


def test_ties_are_no_evidence() -> None:
    assert chance_of_places(5 * 2.5, [4] * 5) > 0.4


def test_the_last_of_64_five_times_in_eleven_rounds_is_no_chance() -> None:
    counted = sum(comb(11, times) * 63 ** (11 - times) for times in range(5, 12)) / 64**11
    assert chance_of_lasts(5, [64] * 11) == pytest.approx(counted)
    assert chance_of_lasts(0, [64] * 11) == 1
