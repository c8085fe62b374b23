"""The program as a whole, before and after."""

from __future__ import annotations

import os

import pytest

from rocm_perf.optimize.measure import program_ab as module
from rocm_perf.optimize.measure.program_ab import is_slower, program_ab
from rocm_perf.optimize.proof.program import Program, ProgramError


@pytest.fixture(autouse=True)
def without_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_tracer", lambda: None)


def program(script: str, timeout_s: float = 10) -> Program:
    return Program(("sh", "-c", script), environment=dict(os.environ), timeout_s=timeout_s)


def test_a_shorter_program_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    base, new = program("true"), program(":")
    factors = iter([0.99, 1.0, 1.01])
    monkeypatch.setattr(module, "_wall_ns", lambda one: 5e8 * next(factors) if one is new else 1e9)
    ab = program_ab(base, new, processes=3)
    assert ab.wall.interval is not None
    assert ab.wall.interval[0] > 1.9
    assert ab.kernels is None
    assert "3 pairs of runs" in ab.wall.how


def test_a_run_takes_as_long_as_its_process() -> None:
    """A busy machine makes it longer, and nothing makes it shorter."""
    ab = program_ab(program("sleep 0.5"), program("sleep 0.2"), processes=1)
    assert ab.wall.base_ns >= 5e8
    assert ab.wall.new_ns >= 2e8


@pytest.mark.parametrize(("second", "slower"), [(1.0, False), (1.1, True)])
def test_what_looks_slower_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, second: float, slower: bool
) -> None:
    """Six pairs in which the new program takes 5 % longer, then six that decide."""
    base, new = program("true"), program(":")
    factors = iter([1.05] * 6 + [second] * 6)
    monkeypatch.setattr(module, "_wall_ns", lambda one: 1e9 * (next(factors) if one is new else 1))
    wall = program_ab(base, new).wall
    assert is_slower(wall) is slower
    assert wall.value == pytest.approx(1 / second)
    assert wall.how.endswith("the second time")


def test_a_program_that_fails_or_hangs_is_one_line() -> None:
    with pytest.raises(ProgramError, match="with exit code 3: broken"):
        program_ab(program("true"), program("echo broken >&2; exit 3"), processes=1)
    with pytest.raises(ProgramError, match=r"did not end within 0\.2 s"):
        program_ab(program("true"), program("sleep 60", timeout_s=0.2), processes=1)
