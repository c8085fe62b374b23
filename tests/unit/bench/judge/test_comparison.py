"""When a value is as expected, and what is said where it is not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rocm_perf.bench.judge.arrays import plain
from rocm_perf.bench.judge.comparison import Comparer, Comparison
from rocm_perf.bench.judge.decoded import decoded, encoded
from rocm_perf.bench.judge.tolerance import Tolerance
from rocm_perf.bench.judge.values import Array, Layout
from rocm_perf.errors import UsageError

X = np.linspace(-3.0, 5.0, 24, dtype=np.float32).reshape(4, 6)


def compare(expected: Any, actual: Any, **options: Any) -> Comparison:
    return Comparer(**options).compare(plain(expected), plain(actual))


@pytest.mark.parametrize(
    "value",
    [
        X,
        None,
        True,
        3,
        2.5,
        math.nan,
        1j,
        "text",
        b"bytes",
        [X, (X, {"a": X, 3: [1.0, math.nan]})],
        np.float32(2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_as_itself(value: Any) -> None:
    assert compare(value, value) == Comparison()


@pytest.mark.parametrize(
    ("expected", "actual", "problem"),
    [
        (X, X.astype(np.float64), "result has the dtype float64, expected float32"),
        (X, X.reshape(6, 4), "result has the shape [6, 4], expected [4, 6]"),
        (X, np.asfortranarray(X), "result has the strides [1, 4], expected [6, 1]"),
        (X, X.tolist(), "result is a list, expected a numpy array"),
        ((X,), [X], "result is a list, expected a tuple"),
        (X, None, "result is nothing, expected a numpy array"),
        ([X, X], [X], "result has 1 item, expected 2"),
        ({"a": 1}, {"b": 1}, "result has the keys ['b'], expected ['a']"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "result['a'][1] is 3, expected 2"),
        (1, 1.0, "result is a float, expected an int"),
        (1, True, "result is a bool, expected an int"),
        ("a", "b", "result is 'b', expected 'a'"),
        (2.0, 2.5, "result is 2.5, expected 2.0"),
        ([1.0, 2.0], [1.0, 2.5], "result: 1 of 2 elements are wrong; result[1] is 2.5, expected 2.0"),
        (np.array([1, 2]), np.array([1, 3]), "result: 1 of 2 elements are wrong; result[1] is 3, expected 2"),
    ],
)
def test_a_difference_names_its_place(expected: Any, actual: Any, problem: str) -> None:
    assert problem in compare(expected, actual).problems


def test_an_axis_of_one_element_has_no_stride_that_matters() -> None:
    column = np.ones((3, 4), np.float32)[:, :1]
    assert column.strides != np.ones((3, 1), np.float32).strides
    assert compare(np.ones((1, 4), np.float32), np.asfortranarray(np.ones((1, 4), np.float32))).is_right


def test_strides_may_be_left_out() -> None:
    assert compare(X, np.asfortranarray(X), compares_strides=False).is_right


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_never_right_by_accident(bad: float) -> None:
    one_bad = X.copy()
    one_bad[1, 2] = bad
    assert not compare(X, one_bad).is_right
    assert not compare(one_bad, X).is_right
    assert not compare(X, one_bad, tolerance=Tolerance(1e30)).is_right
    assert compare(one_bad, one_bad).is_right


def test_infinities_of_either_sign_differ() -> None:
    assert not compare(np.array([math.inf]), np.array([-math.inf])).is_right


def test_all_nan_is_said() -> None:
    (problem,) = compare(X, np.full_like(X, np.nan)).problems
    assert "24 of 24 elements are wrong, 24 are NaN where a number belongs" in problem


@pytest.mark.parametrize(
    ("dtype", "rounding", "lowered"),
    [("float64", 1e-12, 1e-7), ("float32", 2e-6, 3e-4), ("float16", 1e-3, 1e-2), ("complex64", 2e-6, 3e-4)],
)
def test_the_tolerance_of_a_type_allows_rounding_and_no_lower_precision(
    dtype: str, rounding: float, lowered: float
) -> None:
    generator = np.random.default_rng(1)
    exact = generator.standard_normal(1000)
    noise = generator.standard_normal(1000) * np.sqrt(np.mean(exact**2))
    expected = exact.astype(dtype)
    assert compare(expected, (exact + rounding * noise / 4).astype(dtype)).is_right
    assert not compare(expected, (exact + lowered * noise).astype(dtype)).is_right


def test_a_tolerance_that_is_given_is_absolute() -> None:
    expected = np.array([1000.0, 1e-6])
    assert compare(expected, expected + 0.009, tolerance=Tolerance(1e-2)).is_right
    assert not compare(expected, expected + 0.011, tolerance=Tolerance(1e-2)).is_right


@pytest.mark.parametrize("absolute", [-1.0, math.nan, math.inf])
def test_a_tolerance_is_a_difference(absolute: float) -> None:
    with pytest.raises(UsageError, match="is not a tolerance"):
        Tolerance(absolute)


def test_the_largest_errors_are_kept_whether_right_or_not() -> None:
    expected = np.array([2.0, 4.0])
    comparison = compare(expected, np.array([2.5, 4.0]), tolerance=Tolerance(1.0))
    assert comparison.is_right
    assert comparison.largest_absolute == 0.5
    assert comparison.largest_relative == 0.25


def test_empty_arrays_are_equal() -> None:
    assert compare(np.empty((0, 3)), np.empty((0, 3))).is_right


@pytest.mark.parametrize(
    ("dtype", "raw", "value"),
    [
        ("bfloat16", b"\xc0\x3f", 1.5),
        ("float8_e4m3fn", b"\x7e", 448.0),
        ("float8_e4m3fn", b"\x01", 2**-9),
        ("float8_e4m3fn", b"\x7f", math.nan),
        ("float8_e5m2", b"\x7b", 57344.0),
        ("float8_e5m2", b"\xfc", -math.inf),
        ("float8_e5m2", b"\xfd", math.nan),
        ("float16", b"\x00\x3e", 1.5),
    ],
)
def test_types_that_numpy_lacks_are_decoded(dtype: str, raw: bytes, value: float) -> None:
    array = Array(Layout("torch", dtype, (1,), (1,)), raw)
    np.testing.assert_equal(float(decoded(array)[0]), value)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "float32"])
def test_encoded_numbers_decode_to_their_neighbours(dtype: str) -> None:
    numbers = np.array([-1.5, 0.25, 1.0, 2.0])
    array = Array(Layout("torch", dtype, (4,), (1,)), encoded(numbers, dtype))
    np.testing.assert_array_equal(decoded(array), numbers)
