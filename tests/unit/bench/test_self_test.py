"""A against A: splits in the order in which processes ran."""

from __future__ import annotations

import random

import pytest

from rocm_perf.bench.self_test import self_tests
from rocm_perf.statistics import series
from tests.unit.statistics.populations import NESTED, QUIET, TWO_MODES


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "RESAMPLES", 200)


def test_sides_that_the_processes_suffice_for() -> None:
    processes = NESTED.processes(random.Random(1), 20)
    tests = {test.processes_a_side: test for test in self_tests(processes)}
    assert {side: test.comparisons for side, test in tests.items()} == {1: 19, 3: 15, 5: 11, 10: 1}
    assert self_tests(processes[:5])[0].processes_a_side == 1
    assert self_tests([[1.0]] * 5) == []


def test_one_process_a_side_raises_false_alarms_and_several_do_not() -> None:
    tests = {test.processes_a_side: test for test in self_tests(TWO_MODES.processes(random.Random(2), 20))}
    assert tests[1].called_different >= 5
    assert tests[5].called_different <= 1
    assert tests[10].called_different == 0


def test_more_processes_show_smaller_differences() -> None:
    tests = {test.processes_a_side: test for test in self_tests(NESTED.processes(random.Random(3), 20))}
    shown = [tests[side].smallest_shown or 1.0 for side in (3, 5, 10)]
    assert shown == sorted(shown, reverse=True)
    quiet = {test.processes_a_side: test for test in self_tests(QUIET.processes(random.Random(3), 20))}
    assert (quiet[5].smallest_shown or 1.0) < 0.01


def test_a_machine_that_alternates_is_caught() -> None:
    """Every other process is slow, in step with A B B A: random splits would not show it."""
    order = [0, 1, 1, 0] * 5
    processes = [[1.0 + 0.1 * turn + 0.001 * number] * 10 for number, turn in enumerate(order)]
    tests = {test.processes_a_side: test for test in self_tests(processes)}
    assert tests[5].called_different > 0
