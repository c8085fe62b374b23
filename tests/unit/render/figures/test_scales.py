"""Places along axes, and their ticks."""

from __future__ import annotations

import pytest

from rocm_perf.render.figures.scales import Linear, Log, decades, round_ticks


def test_equal_factors_take_equal_room() -> None:
    at = Log(0.1, 1000, 0, 400)
    assert [at(value) for value in (0.1, 1, 10, 1000)] == pytest.approx([0, 100, 200, 400])


def test_an_axis_may_run_upwards() -> None:
    at = Log(1, 100, 300, 100)
    assert at(10) == pytest.approx(200)


@pytest.mark.parametrize("value", [-5.0, 0.0, 1e-30, 1e30])
def test_what_is_beyond_an_end_lies_at_the_end(value: float) -> None:
    assert Log(1, 10, 0, 50)(value) in (0, 50)
    assert 0 <= Linear(1, 10, 0, 50)(value) <= 50


def test_ticks_are_powers_of_ten_or_round() -> None:
    assert decades(0.05, 2000) == pytest.approx([0.1, 1, 10, 100, 1000])
    assert decades(1, 100) == pytest.approx([1, 10, 100])
    assert round_ticks(0, 7.03, 6) == pytest.approx([0, 2, 4, 6])
    assert round_ticks(3, 3, 5) == [3]
