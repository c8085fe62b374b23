"""The gate `fresh`, with the stand-in runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocm_perf.optimize.proof.captured import prove_captured
from rocm_perf.optimize.proof.fresh import prove_fresh
from rocm_perf.optimize.proof.inputs import FreshInputs
from rocm_perf.optimize.proof.states import States, opened_states
from tests.unit.optimize.proof.conftest import Build
from tests.unit.replay.toys import BASE, COUNT, Toy, make_snapshot

RIGHT = f"add 0x{BASE:x} {COUNT} 1"
NOISE = f"noise 0x{BASE:x} {COUNT} 1e-6"
BY_HEART = tuple(f"set 0x{BASE + 4 * place:x} 1 {place + 1}" for place in range(COUNT))


@pytest.fixture(scope="module")
def inputs(states: States) -> FreshInputs:
    return FreshInputs(states)


def test_the_same_code_passes(inputs: FreshInputs, build: Build) -> None:
    passage = prove_fresh(inputs, build(RIGHT), seed=5)
    assert passage.passed, passage.words
    assert "2 fresh states from seed 5" in passage.words


def test_an_answer_by_heart_is_right_on_captured_inputs_alone(
    states: States, inputs: FreshInputs, build: Build
) -> None:
    assert prove_captured(states, build(*BY_HEART)).passed
    passage = prove_fresh(inputs, build(*BY_HEART), seed=6)
    assert not passage.passed
    assert "not the original's result" in passage.words


def test_a_failing_candidate_is_at_fault_and_not_the_inputs(inputs: FreshInputs, build: Build) -> None:
    passage = prove_fresh(inputs, build("fail"), seed=7)
    assert not passage.passed
    assert "the kernel failed" in passage.words


@pytest.fixture(scope="module")
def unsteady(native: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[States]:
    """Of a kernel whose results differ in their last digits each time, as sums by atomics do."""
    toy = Toy(program=(RIGHT, NOISE))
    with opened_states([make_snapshot(tmp_path_factory.mktemp("unsteady"), toy)], timeout_s=10) as opened:
        yield opened


def test_a_tolerance_where_the_original_differs_from_itself(unsteady: States, build: Build) -> None:
    inputs = FreshInputs(unsteady)
    assert prove_captured(unsteady, build(RIGHT, NOISE)).passed
    assert prove_fresh(inputs, build(RIGHT, NOISE), seed=8).passed
    assert not prove_captured(unsteady, build(f"add 0x{BASE:x} {COUNT} 1.01", NOISE)).passed
    assert not prove_fresh(inputs, build(f"add 0x{BASE:x} {COUNT} 1.01", NOISE), seed=9).passed
