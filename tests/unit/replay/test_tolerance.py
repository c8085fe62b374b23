"""Tolerances: parsed with care, and no more lenient than they say."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import UsageError
from rocm_perf.replay.tolerance import DEFAULT, Dtype, Tolerance, parse_tolerance, values

FLOATS = st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=30)


def test_parsing() -> None:
    assert parse_tolerance("f32=1e-6,1e-5") == Tolerance("f32", 1e-6, 1e-5)
    assert parse_tolerance("bf16=0,0.01") == Tolerance("bf16", 0.0, 0.01)


@pytest.mark.parametrize(
    "text", ["", "f32", "f32=1", "f32=1,2,3", "i8=0,0", "f32=a,b", "f32=-1,0", "f32=0,1", "f32=nan,0"]
)
def test_what_is_no_tolerance(text: str) -> None:
    with pytest.raises(UsageError, match="not a tolerance"):
        parse_tolerance(text)


@given(FLOATS, st.floats(0, 1), st.floats(0, 0.5))
def test_by_the_definition(wanted: list[float], absolute: float, relative: float) -> None:
    got = [value * 1.0001 + 1e-3 if math.isfinite(value) else value for value in wanted]
    pack = struct.Struct(f"<{len(wanted)}f")
    try:
        one, other = pack.pack(*wanted), pack.pack(*got)
    except OverflowError:
        return
    pairs = zip(pack.unpack(one), pack.unpack(other), strict=True)
    expected = sum(
        not (left == right or abs(left - right) <= max(absolute, relative * max(abs(left), abs(right))))
        for left, right in pairs
    )
    assert Tolerance("f32", absolute, relative).far_off(one, other) == expected


def test_nan_and_infinity() -> None:
    loose = Tolerance("f32", 1e9, 0.5)
    nan, one, inf = math.nan, 1.0, math.inf

    def packed(value: float) -> bytes:
        return struct.pack("<f", value)

    assert loose.far_off(packed(nan), packed(nan)) == 0
    assert loose.far_off(packed(inf), packed(inf)) == 0
    assert loose.far_off(packed(nan), packed(one)) == 1
    assert loose.far_off(packed(inf), packed(one)) == 1
    assert loose.far_off(packed(inf), packed(-inf)) == 1
    assert loose.far_off(packed(one), packed(nan)) == 1
    assert Tolerance("f32", 0.0, 0.0).far_off(packed(0.0), packed(-0.0)) == 0


@given(st.data(), st.sampled_from(["f16", "bf16", "f32", "f64"]), st.floats(0, 1e30), st.floats(0, 0.999))
def test_any_bits(data: st.DataObject, dtype: Dtype, absolute: float, relative: float) -> None:
    """As math.isclose says, of whatever lies in memory; NaN is close to NaN."""
    bits = st.binary(min_size=0, max_size=64).flatmap(lambda one: st.tuples(st.just(one), st.binary()))
    one, other = data.draw(bits)
    other = (other + one)[: len(one)]
    whole = len(one) // WIDTHS[dtype] * WIDTHS[dtype]
    pairs = zip(unpacked(dtype, one[:whole]), unpacked(dtype, other[:whole]), strict=True)
    far = sum(
        not math.isclose(left, right, rel_tol=relative, abs_tol=absolute)
        and not (math.isnan(left) and math.isnan(right))
        for left, right in pairs
    )
    found = Tolerance(dtype, absolute, relative).far_off(one, other)
    assert found == far + (one[whole:] != other[whole:])


WIDTHS: dict[Dtype, int] = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def unpacked(dtype: Dtype, data: bytes) -> tuple[float, ...]:
    if dtype == "bf16":
        halves = (data[at : at + 2] for at in range(0, len(data), 2))
        return tuple(struct.unpack("<f", b"\0\0" + half)[0] for half in halves)
    letter = {"f16": "e", "f32": "f", "f64": "d"}[dtype]
    return struct.unpack(f"<{len(data) // WIDTHS[dtype]}{letter}", data)


def test_every_f16() -> None:
    data = struct.pack("<65536H", *range(65536))
    pairs = zip(values("f16", data), struct.unpack("<65536e", data), strict=True)
    assert all(one == other or (math.isnan(one) and math.isnan(other)) for one, other in pairs)


def test_four_mebibytes_differ_in_every_value() -> None:
    data, other = (struct.pack("<f", value) * (1 << 20) for value in (1.0, 1.5))
    assert Tolerance("f32", 0.0, 1e-5).far_off(data, other) == 1 << 20


@pytest.mark.parametrize(
    ("dtype", "data", "expected"),
    [
        ("f16", struct.pack("<2e", 1.5, -2.0), (1.5, -2.0)),
        ("bf16", struct.pack("<f", 1.5)[2:] + struct.pack("<f", -2.0)[2:], (1.5, -2.0)),
        ("f32", struct.pack("<f", 0.1), (pytest.approx(0.1),)),
        ("f64", struct.pack("<d", 0.1), (0.1,)),
    ],
)
def test_types(dtype: Dtype, data: bytes, expected: tuple[float, ...]) -> None:
    assert tuple(values(dtype, data)) == expected


def test_the_default_does_not_excuse_small_integers() -> None:
    """Counters read as f32 are tiny numbers; 100 and 101 must not count as close."""
    (default,) = DEFAULT
    assert default.far_off(struct.pack("<i", 100), struct.pack("<i", 101)) == 1


def test_a_rest_that_is_no_value_is_compared_as_it_is() -> None:
    assert Tolerance("f32", 1.0, 0.5).far_off(b"\0\0\0\0\1", b"\0\0\0\0\2") == 1
