"""Places on a logarithmic axis that are known beforehand."""

from __future__ import annotations

import pytest

from rocm_perf.render.drawings.scale import LogScale, spanning


@pytest.mark.parametrize(("value", "place"), [(0.1, 0), (1, 10), (10, 20), (1000, 40)])
def test_a_decade_is_as_long_as_every_other(value: float, place: float) -> None:
    scale = LogScale(-1, 3, 40)
    assert scale.place(value) == pytest.approx(place)
    assert scale.value(place) == pytest.approx(value)


def test_values_beyond_the_axis_lie_in_its_outermost_cells() -> None:
    scale = LogScale(0, 2, 20)
    assert [scale.cell(value) for value in (0.001, 1, 10, 99.9, 1e9)] == [0, 0, 10, 19, 19]


def test_powers_of_ten_are_labelled() -> None:
    assert list(LogScale(-1, 2, 30).decades()) == [(0, "0.1"), (10, "1"), (20, "10"), (29, "100")]
    assert [label for _, label in LogScale(-4.5, -2.5, 30).decades()] == ["1e-4", "1e-3"]
    assert [label for _, label in LogScale(3.5, 6.5, 30).decades()] == ["10000", "1e5", "1e6"]


def test_an_axis_spans_its_values_and_at_least_a_decade() -> None:
    scale = spanning([500, 5], 10)
    assert [scale.value(0), scale.value(10)] == pytest.approx([5, 500])
    assert spanning([7], 10).value(10) == pytest.approx(70)
    assert spanning([1, 100], 10, spare=2).place(100) == pytest.approx(8)
