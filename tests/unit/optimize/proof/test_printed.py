"""What a program printed, compared number by number."""

from __future__ import annotations

import struct

import pytest

from rocm_perf.optimize.proof.printed import expected_of
from rocm_perf.replay.tolerance import Tolerance

CLOSE = (Tolerance("f32", 0.0, 1e-4),)


def test_the_same_text_is_right_and_another_number_is_not() -> None:
    expected = expected_of(b"sum = 12.5\n", b"sum = 12.5\n")
    assert expected.fault(b"sum = 12.5\n") == ""
    assert expected.fault(b"sum = 12.6\n") == "line 1: '12.6' instead of '12.5'"
    assert "2 lines instead of 1" in expected.fault(b"sum = 12.5\nmore\n")
    assert "instead of" in expected.fault(b"total = 12.5\n")


def test_times_that_differ_between_runs_of_the_original_are_ignored() -> None:
    expected = expected_of(b"sum = 12.5 in 3.01 ms\n", b"sum = 12.5 in 3.07 ms\n")
    assert expected.fault(b"sum = 12.5 in 9.99 ms\n") == ""
    assert expected.fault(b"sum = 12.4 in 3.01 ms\n")
    assert "1 number not compared" in expected.left_out


def test_a_tolerance_excuses_numbers_and_never_nan() -> None:
    expected = expected_of(b"1.00000 nan\n", b"1.00000 nan\n", CLOSE)
    assert expected.fault(b"1.00005 nan\n") == ""
    assert expected.fault(b"1.001 nan\n")
    assert expected.fault(b"nan nan\n")
    assert expected.fault(b"1.00000 0\n")


@pytest.mark.parametrize("second", [None, b"one\ntwo\n"])
def test_what_the_original_does_not_agree_on_is_not_compared(second: bytes | None) -> None:
    expected = expected_of(b"one\n", second)
    assert not expected.is_compared
    assert expected.left_out.startswith("not compared, because")
    assert expected.fault(b"anything") == ""


def test_binary_files() -> None:
    data, near, far = (struct.pack("<3f", 1, 2, value) for value in (3, 3.0001, 3.1))
    assert (
        expected_of(b"\0" + data, b"\0" + data).fault(b"\0" + near) == "other bytes than the original writes"
    )
    close = expected_of(data, data, CLOSE)
    assert close.fault(near) == ""
    assert close.fault(far)
    assert "13 bytes instead of 12" in close.fault(data + b"\xff")
