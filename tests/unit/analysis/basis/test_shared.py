"""Shared results: computed once for a Trace, apart for another, and gone with it."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest

from rocm_perf.analysis.basis import shared
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.trace import Trace


def test_a_result_is_computed_once_for_each_trace() -> None:
    computed: list[Trace] = []

    @once_per_trace
    def count(trace: Trace) -> int:
        computed.append(trace)
        return len(computed)

    one, other = Trace({}), Trace({})
    assert [count(one), count(one), count(other), count(one)] == [1, 1, 2, 1]


def test_who_asks_while_a_result_is_computed_waits_for_it() -> None:
    computed: list[Trace] = []

    @once_per_trace
    def slow(trace: Trace) -> int:
        computed.append(trace)
        sleep(0.05)  # the others ask meanwhile
        return len(computed)

    trace = Trace({})
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(slow, [trace] * 4)) == [1] * 4


def test_a_failure_is_not_kept() -> None:
    attempts: list[int] = []

    @once_per_trace
    def fails_first(trace: Trace) -> int:
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError
        return len(attempts)

    trace = Trace({})
    with pytest.raises(ValueError):  # noqa: PT011
        fails_first(trace)
    assert fails_first(trace) == 2


def test_results_go_with_their_trace() -> None:
    once_per_trace(lambda trace: 1)(Trace({}))
    gc.collect()
    before = len(shared._RESULTS)
    trace = Trace({})
    once_per_trace(lambda trace: 1)(trace)
    assert len(shared._RESULTS) == before + 1
    del trace
    gc.collect()
    assert len(shared._RESULTS) == before
