"""Inputs are never the same twice, unless nobody can change that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rocm_perf.bench.judge.arrays import live, plain
from rocm_perf.bench.judge.decoded import decoded
from rocm_perf.bench.judge.inputs import Inputs
from rocm_perf.bench.judge.values import Array, Value, same_bits


def fixed(*arguments: Any) -> Inputs:
    return Inputs(lambda _seed: [plain(arguments)])


def test_inputs_that_are_made_anew_are_left_as_they_are() -> None:
    made: list[Value] = []

    def make(seed: int) -> list[Value]:
        made.append(plain((float(seed), [1.0, 2.0, 3.0])))
        return [made[-1]]

    inputs = Inputs(make)
    assert inputs.fresh(0) is made[-1]
    assert not same_bits(inputs.fresh(0), inputs.fresh(0))
    assert not inputs.unchanging


def test_every_case_of_what_was_made_is_used() -> None:
    seeds: list[int] = []

    def make(seed: int) -> list[Value]:
        seeds.append(seed)
        return [(float(seed),), (float(-seed),)]

    inputs = Inputs(make)
    before = len(seeds)
    first, second = inputs.fresh(0), inputs.fresh(1)
    assert len(seeds) == before + 1
    assert (first, second) == ((float(seeds[-1]),), (float(-seeds[-1]),))


def test_arrays_that_never_change_are_shuffled() -> None:
    x = np.arange(100, dtype=np.float32).reshape(10, 10)
    inputs = fixed(x)
    first, second = inputs.fresh(0), inputs.fresh(0)
    assert not same_bits(first, second)
    assert isinstance(first, tuple)
    assert isinstance(first[0], Array)
    np.testing.assert_array_equal(np.sort(decoded(first[0]).ravel()), x.ravel())
    assert not inputs.unchanging


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_zeros_become_random_numbers(dtype: Any) -> None:
    (argument,) = live(fixed(np.zeros((8, 8), dtype)).fresh(0))
    assert argument.dtype == dtype
    assert len(np.unique(argument)) > 10


def test_lists_of_floats_are_shuffled() -> None:
    inputs = fixed([float(number) for number in range(50)])
    assert not same_bits(inputs.fresh(0), inputs.fresh(0))


def test_indices_and_single_numbers_are_left_alone_and_said_to_be_unchanging() -> None:
    inputs = fixed(np.arange(5), 0.5, "text")
    assert same_bits(inputs.fresh(0), inputs.fresh(0))
    assert inputs.unchanging == (0,)
