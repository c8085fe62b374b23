"""Candidate against original by turns, with the stand-in runner."""

from __future__ import annotations

import random

import pytest

from rocm_perf.optimize.measure.decide import gain_passage
from rocm_perf.optimize.measure.replay_ab import Turns, replay_ab, warmup_before
from rocm_perf.optimize.proof.inputs import FreshInputs
from rocm_perf.optimize.proof.states import States
from tests.unit.optimize.proof.conftest import Build, build, made, native, states
from tests.unit.replay.toys import BASE, COUNT

__all__ = ["build", "made", "native", "states"]  # fixtures

RIGHT = f"add 0x{BASE:x} {COUNT} 1"
BY_HEART = tuple(f"set 0x{BASE + 4 * place:x} 1 {place + 1}" for place in range(COUNT))
SHORT = Turns(processes=3, iterations=10, warmup=1)


@pytest.fixture(scope="module")
def inputs(states: States) -> FreshInputs:
    return FreshInputs(states)


@pytest.mark.whole
def test_a_faster_candidate_and_one_that_is_the_same(inputs: FreshInputs, build: Build) -> None:
    faster = replay_ab(inputs, build(RIGHT, "time 500"), turns=SHORT)
    assert faster.speedup.value == pytest.approx(2, rel=0.01)
    assert faster.timed.passed
    assert faster.noise == 0
    assert gain_passage(faster.speedup).passed
    same = replay_ab(inputs, build(RIGHT), turns=SHORT)
    assert not gain_passage(same.speedup).passed


def test_timed_launches_that_leave_a_wrong_result(inputs: FreshInputs, build: Build) -> None:
    """Right in its first ten launches, and then an exponent is wrong."""
    lazy = build(RIGHT, f"wobble 0x{BASE + 7:x} {'0' * 10}1")
    assert not replay_ab(inputs, lazy, turns=SHORT).timed.passed


def test_other_contents_at_the_same_addresses(inputs: FreshInputs, build: Build) -> None:
    """An answer that is kept is right for the contents that it was kept for."""
    kept = replay_ab(inputs, build(*BY_HEART), turns=SHORT).timed
    assert not kept.passed
    assert "process 1, other inputs" in kept.words


def test_a_candidate_that_is_fast_only_where_it_knows_the_contents(inputs: FreshInputs, build: Build) -> None:
    """It is right everywhere: only its times give it away."""
    last = COUNT - 1
    knows = replay_ab(inputs, build(f"knows 0x{BASE + 4 * last:x} {last} 250", RIGHT), turns=SHORT)
    assert knows.timed.passed
    passage = gain_passage(knows.speedup, 0.02, knows.noise, knows.by_contents)
    assert not passage.passed
    assert "on the captured contents, 1.000x on others: it recognises its input" in passage.words
    honest = replay_ab(inputs, build(RIGHT, "time 250"), turns=SHORT)
    assert gain_passage(honest.speedup, 0.02, honest.noise, honest.by_contents).passed


def test_the_candidate_is_launched_last() -> None:
    """The runner's order of three codes: each round begins one further, every other one backwards."""

    def last(rounds: int) -> int:
        turn = rounds - 1
        order = [(place + turn // 2) % 3 for place in range(3)]
        return order[0] if turn % 2 else order[-1]

    source = random.Random(1)
    for iterations in range(5, 12):
        turns = Turns(iterations=iterations)
        warmups = {warmup_before(turns, source) for _ in range(50)}
        assert all(last(warmup + iterations) == 0 for warmup in warmups)
        assert min(warmups) >= turns.warmup
        assert len(warmups) > 1
