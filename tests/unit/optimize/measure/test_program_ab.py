"""The program as a whole, before and after."""

from __future__ import annotations

import os

import pytest

from rocm_perf.optimize.measure import program_ab as module
from rocm_perf.optimize.measure.program_ab import program_ab
from rocm_perf.optimize.proof.program import Program, ProgramError


@pytest.fixture(autouse=True)
def without_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_tracer", lambda: None)


def program(script: str, timeout_s: float = 10) -> Program:
    return Program(("sh", "-c", script), environment=dict(os.environ), timeout_s=timeout_s)


def test_half_the_time_is_shown() -> None:
    ab = program_ab(program("sleep 0.2"), program("sleep 0.1"), processes=3)
    assert ab.wall.interval is not None
    assert ab.wall.interval[0] > 1
    assert ab.kernels is None
    assert "3 pairs of runs" in ab.wall.how


def test_a_program_that_fails_or_hangs_is_one_line() -> None:
    with pytest.raises(ProgramError, match="with exit code 3: broken"):
        program_ab(program("true"), program("echo broken >&2; exit 3"), processes=1)
    with pytest.raises(ProgramError, match=r"did not end within 0\.2 s"):
        program_ab(program("true"), program("sleep 60", timeout_s=0.2), processes=1)
