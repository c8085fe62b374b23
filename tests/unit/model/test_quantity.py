"""A derived number, or why there is none."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.model.quantity import Quantity, ratio, unavailable

AMOUNTS = st.none() | st.integers(0, 2**62) | st.floats(0, 1e300)


def test_a_value_and_a_reason_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="either a value or the reason"):
        Quantity(None, "ns", "a / b")
    with pytest.raises(ValueError, match="either a value or the reason"):
        Quantity(1.0, "ns", "a / b", unavailable="no counters")


def test_known() -> None:
    assert Quantity(0, "ns", "a").known
    lost = unavailable("GB/s", "bytes / time", "bytes were not recorded")
    assert not lost.known
    assert (lost.value, lost.unit, lost.unavailable) == (None, "GB/s", "bytes were not recorded")


def test_it_survives_json() -> None:
    for quantity in (Quantity(0.5, "", "a / b", {"a": 1, "b": 2}), unavailable("", "a / b", "no a")):
        assert msgspec.json.decode(msgspec.json.encode(quantity), type=Quantity) == quantity


@pytest.mark.parametrize(
    ("part", "whole", "reason"),
    [
        (None, 5, "busy was not recorded"),
        (1, None, "wall is not recorded"),
        (1, 0, "wall is zero"),
        (None, None, "busy was not recorded"),
    ],
)
def test_a_ratio_without_value_says_why(part: float | None, whole: float | None, reason: str) -> None:
    quantity = ratio(part, whole, "busy / wall", "busy", "wall")
    assert (quantity.value, quantity.unavailable) == (None, reason)


def test_a_ratio_above_one_is_kept_and_doubted() -> None:
    quantity = ratio(3, 2, "busy / wall", "busy", "wall")
    assert (quantity.value, quantity.doubt) == (1.5, "busy exceeds wall")
    assert quantity.inputs == {"busy": 3, "wall": 2}
    assert ratio(2, 2, "busy / wall", "busy", "wall").doubt is None


@given(part=AMOUNTS, whole=AMOUNTS)
def test_a_ratio_is_a_number_or_a_reason(part: float | None, whole: float | None) -> None:
    quantity = ratio(part, whole, "a / b", "a", "b")
    assert quantity.known == (part is not None and bool(whole))
    assert quantity.value is None or math.isfinite(quantity.value) or (whole and whole < 1)
