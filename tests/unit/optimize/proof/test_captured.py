"""The gate `captured`, with the stand-in runner."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocm_perf.model.results.optimize import Geometry
from rocm_perf.optimize.proof.captured import judging_states, prove_captured
from rocm_perf.optimize.proof.states import States, sizes_of
from rocm_perf.replay.plan import Sizes
from tests.unit.optimize.proof.conftest import Build
from tests.unit.replay.toys import BASE, COUNT, OTHER

RIGHT = f"add 0x{BASE:x} {COUNT} 1"
BEHIND = f"put 0x{BASE + (1 << 20):x} 1"  # in no allocation: the granule of the reservation goes on


def test_the_original_and_the_same_code_pass(states: States, build: Build) -> None:
    assert judging_states(states) == states
    passage = prove_captured(states, build(RIGHT))
    assert passage.passed
    assert "bit for bit the same on 1 dispatch" in passage.words
    assert "3 of 3 controls failed as they must" in passage.words


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (("time 10",), "does not give the application's result"),  # writes nothing
        ((f"add 0x{BASE:x} {COUNT} 1.001",), "as f32"),
        ((f"set 0x{BASE:x} {COUNT} nan",), "nan"),
        ((f"add 0x{BASE:x} {COUNT // 2} 1",), "bytes differ"),
        ((RIGHT, f"put 0x{OTHER:x} 1"), "where the original writes nothing"),  # a mutated input
        ((RIGHT, BEHIND), "where the original writes nothing"),
        (("fail",), "the kernel failed"),
    ],
)
def test_wrong_code_does_not_pass(states: States, build: Build, program: tuple[str, ...], words: str) -> None:
    passage = prove_captured(states, build(*program))
    assert not passage.passed
    assert words in passage.words


def test_a_result_that_is_rounded_otherwise(states: States, build: Build) -> None:
    """It does not pass, but what would let it pass is said, and digits enough to see the difference."""
    passage = prove_captured(states, build(f"add 0x{BASE:x} {COUNT} 1.000001"))
    assert not passage.passed
    assert passage.needed == "--verify f32=0,1e-05"
    assert "--verify f32=0,1e-05 allows that" in passage.words
    got, _, expected = passage.words.partition(" as f32 ")[2].rstrip(")").partition(" instead of ")
    assert got != expected


def test_only_the_candidate_has_its_geometry(states: States, build: Build) -> None:
    """Half as many work-items are launched, so that half of the values are missing; the original is as it was."""
    halved = replace(build(RIGHT), geometry=Geometry(block=(8, 1, 1), keeps_items=False))
    assert not prove_captured(states, halved).passed
    whole = replace(halved, geometry=Geometry(block=(8, 1, 1), keeps_items=True))
    assert prove_captured(states, whole).passed


def test_sizes_of_a_launch(states: States) -> None:
    dispatch = states.states[0].snapshot.dispatch
    assert sizes_of(dispatch, None) is None
    assert sizes_of(dispatch, Geometry(block=(8, 1, 1), keeps_items=False)) == Sizes((32, 1, 1), (8, 1, 1))
    assert sizes_of(dispatch, Geometry(block=(48, 1, 1), keeps_items=True)) == Sizes((96, 1, 1), (48, 1, 1))
