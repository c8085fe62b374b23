"""Other values for a buffer."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf.optimize.proof.parameters import Element
from rocm_perf.optimize.proof.values import as_bf16, changed, drawn, floats, from_bf16


def source() -> np.random.Generator:
    return np.random.default_rng(3)


def test_a_permutation_keeps_the_values_and_the_rest() -> None:
    data = np.concatenate((np.arange(100, dtype="<f4").view(np.uint8), np.array([7, 8], np.uint8)))
    new = changed(data, "f32", "permuted", source())
    assert sorted(floats(new, "f32")) == list(range(100))
    assert not np.array_equal(new, data)
    assert list(new[-2:]) == [7, 8]


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_drawn_values_stay_in_the_range_and_are_new(element: Element) -> None:
    old = source().uniform(-3, 5, 1000)
    kinds = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}
    bits = as_bf16(old) if element == "bf16" else old.astype(kinds[element])
    was = floats(bits.view(np.uint8), element)
    new = floats(changed(bits.view(np.uint8), element, "drawn", source()), element)
    assert new.size == 1000
    assert was.min() <= new.min() < new.max() <= was.max()
    assert np.isin(new, was).mean() < 0.5 or element in ("f16", "bf16")


def test_constants_are_replaced_and_what_is_not_finite_stays() -> None:
    zeros = drawn(np.zeros(50, "<f4"), source())
    assert 0 <= zeros.min() < zeros.max() <= 1
    mixed = np.array([1, np.nan, 1, np.inf, 1], "<f4")
    new = drawn(mixed, source())
    assert np.array_equal(np.isfinite(new), np.isfinite(mixed))
    assert new[3] == np.inf
    assert not np.array_equal(new[[0, 2, 4]], [1, 1, 1])


def test_integers_are_among_those_that_were_there() -> None:
    """They may be indices. What counts them must see another count, which no permutation brings."""
    counts = np.repeat(np.arange(8, dtype="<u4"), 8)
    data = counts.view(np.uint8)
    assert sorted(changed(data, "i32", "permuted", source()).view("<u4")) == list(counts)
    others = changed(data, "i32", "drawn", source()).view("<u4")
    assert set(others) <= set(range(8))
    assert sorted(others) != list(counts)


def test_constant_integers_get_a_neighbour() -> None:
    data = np.full(64, 5, dtype="<u4").view(np.uint8)
    assert set(changed(data, "i32", "drawn", source()).view("<u4")) == {5, 6}


def test_places_to_write_to_stay_distinct() -> None:
    data = np.arange(64, dtype="<u4").view(np.uint8)
    assert sorted(changed(data, "i32", "drawn", source()).view("<u4")) == list(range(64))


def test_bf16_is_the_upper_half_of_f32() -> None:
    assert list(from_bf16(as_bf16(np.array([1.5, -2.0], "<f4")))) == [1.5, -2.0]
