"""Every gate of proof on the stand-in HSA runtime, from the program on: what is right passes, and each cheat is stopped
by the gate that is there for it and by no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.model.results.optimize import Geometry
from rocm_perf.optimize.measure.replay_ab import ReplayAb, Turns, replay_ab
from rocm_perf.optimize.proof.captured import judging_states, prove_captured
from rocm_perf.optimize.proof.capturing import CapturedStates, StatesRequest, capture_states, exactly
from rocm_perf.optimize.proof.floor import prove_floor
from rocm_perf.optimize.proof.fresh import prove_fresh
from rocm_perf.optimize.proof.inputs import FreshInputs
from rocm_perf.optimize.proof.program import Program, ProgramError
from rocm_perf.optimize.proof.roof import Roof
from rocm_perf.optimize.proof.states import States, Variant, opened_states
from rocm_perf.optimize.proof.traffic import traffic
from tests.native.hsa_standin.harness import Bench
from tests.unit.replay.test_hsa_capture import COUNT, bench

pytestmark = pytest.mark.native

__all__ = ["bench"]  # a fixture

SOFTMAX = exactly("_Z7softmaxPfi")
FEW = Turns(processes=3, iterations=10, warmup=2)


@dataclass(frozen=True)
class Laboratory:
    """Captured states of the program, opened."""

    bench: Bench
    folder: Path
    captured: CapturedStates
    states: States
    inputs: FreshInputs

    def variant(self, name: str) -> Variant:
        """The code object for which C functions of this name stand."""
        path = self.folder / f"{name}.hsaco"
        path.write_bytes(self.bench.one.read_bytes() + f"standin:{name}".encode())
        return Variant(path)

    def gates(self, name: str) -> dict[str, bool]:
        """How a candidate fares at each gate, though it has failed before."""
        variant = self.variant(name)
        return {
            "captured": prove_captured(self.states, variant).passed,
            "fresh": prove_fresh(self.inputs, variant, seed=11, with_sizes=True).passed,
            "timed": self.timed(name).timed.passed,
        }

    def timed(self, name: str) -> ReplayAb:
        return replay_ab(self.inputs, self.variant(name), turns=FEW, seed=12)


def request(bench: Bench, folder: Path, scenario: str = "softmax", **switches: str) -> StatesRequest:
    environment = {**bench.environment(**switches), "ROCM_PERF_NATIVE_DIR": str(bench.folder)}
    program = Program(tuple(bench.program(scenario)), environment=environment, timeout_s=180)
    return StatesRequest(program=program, kernel=SOFTMAX, vendor="AMD", folder=folder)


@pytest.fixture(scope="module")
def laboratory(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    folder = tmp_path_factory.mktemp("laboratory")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in request(bench, folder).program.environment.items():
            patch.setenv(name, value)
        captured = capture_states(request(bench, folder))
        with opened_states(captured.snapshots) as opened:
            states = judging_states(opened)
            yield Laboratory(bench, folder, captured, states, FreshInputs(states))


def test_several_dispatches_are_captured(laboratory: Laboratory) -> None:
    assert laboratory.captured.dispatches == 5
    numbers = [one.dispatch.dispatch for one in laboratory.captured.snapshots]
    assert numbers == [1, 3, 5]


def test_every_shape_is_captured(bench: Bench, tmp_path: Path) -> None:
    captured = capture_states(request(bench, tmp_path, "shapes"))
    assert [one.dispatch.dispatch for one in captured.snapshots] == [1, 2, 5]
    assert {one.dispatch.grid for one in captured.snapshots} == {(COUNT, 1, 1), (COUNT // 2, 1, 1)}


def test_integers_are_changed_where_the_original_copes(laboratory: Laboratory, tmp_path: Path) -> None:
    """The kernel adds to integers that are all the same: no order of them is another one."""
    wish = replace(request(laboratory.bench, tmp_path, "batch"), kernel="add", most=1)
    with opened_states(capture_states(wish).snapshots) as states:
        passage = prove_fresh(FreshInputs(states), Variant(laboratory.bench.two), seed=3)
    assert passage.passed, passage.words
    assert "1 fresh state" in passage.words
    assert "inputs permuted with seed 3: they are the same in any order" in passage.words


def test_structures_are_left_alone(laboratory: Laboratory, tmp_path: Path) -> None:
    """A list that the kernel follows: only the sum that it adds to can be changed."""
    wish = replace(request(laboratory.bench, tmp_path, "structures"), kernel="chase", most=1)
    with opened_states(capture_states(wish).snapshots) as states:
        (inputs,) = FreshInputs(states).states
        assert [buffer.element for buffer in inputs.buffers] == ["f32"]
        assert prove_fresh(FreshInputs(states), Variant(laboratory.bench.one), seed=3).passed


def test_a_dispatch_that_shows_nothing_is_left_out(laboratory: Laboratory) -> None:
    """By its fifth round the softmax in place has nothing to change any more."""
    assert [state.name for state in laboratory.states] == ["dispatch 1", "dispatch 3"]
    (note,) = laboratory.states.notes
    assert note.startswith("dispatch 5 is left out: the kernel changed nothing")


def test_a_right_candidate_passes_every_gate_and_is_faster(laboratory: Laboratory) -> None:
    assert all(laboratory.gates("faster").values())
    assert laboratory.timed("faster").speedup.value > 1


@pytest.mark.parametrize(("keeps_items", "passed"), [(True, True), (False, False)])
def test_another_block_is_launched_with_its_own_grid(
    laboratory: Laboratory, keeps_items: bool, passed: bool
) -> None:
    """As many blocks of half the size do half of the work; the original beside them does all of it."""
    geometry = Geometry(block=(32, 1, 1), keeps_items=keeps_items)
    variant = replace(laboratory.variant("faster"), geometry=geometry)
    assert prove_captured(laboratory.states, variant).passed is passed
    assert replay_ab(laboratory.inputs, variant, turns=FEW, seed=1).timed.passed is passed


@pytest.mark.parametrize(
    ("cheat", "stopped_by"),
    [
        ("idle", {"captured", "fresh", "timed"}),
        ("nan", {"captured", "fresh", "timed"}),
        ("half", {"captured", "fresh", "timed"}),
        ("behind", {"captured", "fresh", "timed"}),
        ("learnt", {"fresh", "timed"}),  # and `timed` only because the last launch finds other inputs
        ("fours", {"fresh"}),
        ("watched", {"timed"}),
        ("kept", {"timed"}),
    ],
)
def test_a_cheat_is_stopped(laboratory: Laboratory, cheat: str, stopped_by: set[str]) -> None:
    gates = laboratory.gates(cheat)
    assert {gate for gate, passed in gates.items() if not passed} == stopped_by


def test_other_sizes_are_tried(laboratory: Laboratory) -> None:
    words = prove_fresh(laboratory.inputs, laboratory.variant("faster"), seed=13, with_sizes=True).words
    assert "1 other size" in words
    words = prove_fresh(laboratory.inputs, laboratory.variant("fours"), seed=14, with_sizes=True).words
    assert f"argument 2 is {COUNT // 2 - 1} instead of {COUNT}: not the original's result" in words


def test_too_fast_to_be_true(laboratory: Laboratory) -> None:
    """On a GPU whose memory is as slow as this."""
    moved = traffic(laboratory.inputs)
    assert all(one.written_bytes > COUNT for one in moved)
    times_ns = laboratory.timed("faster").states_ns
    slow = Roof(memory=1e-6, cache=1e-6, cache_bytes=0, name="an abacus")
    assert not prove_floor(moved, times_ns, slow).passed
    assert prove_floor(moved, times_ns, replace(slow, memory=1e6, cache=1e6)).passed


def test_what_cannot_be_captured_is_one_line(bench: Bench, tmp_path: Path) -> None:
    wish = request(bench, tmp_path)
    with pytest.raises(EmptyCaptureError, match="it launched softmax"):
        capture_states(replace(wish, kernel="sotfmax"))
    failing = replace(wish, program=replace(wish.program, argv=("sh", "-c", "echo no input >&2; exit 3")))
    with pytest.raises(ProgramError, match="fails before any change: it ended with exit code 3: no input"):
        capture_states(failing)
    hanging = replace(wish, program=replace(wish.program, argv=("sleep", "60"), timeout_s=0.5))
    with pytest.raises(ProgramError, match=r"did not end within 0\.5 s"):
        capture_states(hanging)
    assert list(tmp_path.iterdir()) == []
