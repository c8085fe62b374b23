"""Every way to deceive a benchmark is caught by a gate, and gets through where that gate is open."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import pytest

from rocm_perf.bench.ab_processes import AbRequest, ab_processes
from rocm_perf.bench.ab_result import AbResult
from rocm_perf.bench.judge.checking import Pair
from rocm_perf.bench.judge.gates import CLOSED, Gates
from rocm_perf.bench.judge.inputs import Inputs
from rocm_perf.bench.judge.lap import BASE, NEW
from rocm_perf.bench.judge.runner import InputProcess, RemoteSide, RunnerProcess
from rocm_perf.bench.judge.timing import turns
from rocm_perf.bench.judge.trial import TrialPlan

FOLDER = Path(__file__).parent / "cheats"


@dataclass(frozen=True)
class Cheat:
    name: str
    gate: str
    caught_by: str
    base: str = "honest"
    inputs: str = "inputs"
    in_place: tuple[int, ...] = ()


CHEATS = (
    Cheat("first_result_again", "fresh_inputs", "elements are wrong"),
    Cheat("by_address", "reused_buffers", "elements are wrong"),
    Cheat("writes_nothing", "fresh_outputs", "argument 1", "honest_out", "out_inputs", (1,)),
    Cheat("lower_precision", "type_tolerance", "elements are wrong"),
    Cheat("skips_zeros", "random_values", "are NaN where a number belongs", inputs="zeros"),
    Cheat("unfinished", "settled_results", "still changing"),
    Cheat("finds_reference", "own_process", "elements are wrong"),
    Cheat("reads_freed_memory", "own_process", "elements are wrong", base="honest_with_temporary"),
    Cheat("all_nan", "exact_nan", "are NaN where a number belongs"),
    Cheat("detects_warmup", "checked_laps", "elements are wrong"),
    Cheat("lazy", "plain_results", "Lazy is neither an array"),
    Cheat("changes_inputs", "unchanged_inputs", "argument 0 is not as it was"),
)

pytestmark = pytest.mark.launches  # three processes for each cheat, with its gate closed and open


def judged(cheat: Cheat, gates: Gates, *, processes: int = 1, laps: int = 2) -> AbResult:
    plan = TrialPlan(rounds=2, laps=laps, lap_ms=1e-3, gates=gates, in_place=cheat.in_place)
    reference = FOLDER / "reference.py"
    return ab_processes(
        AbRequest(
            base=f"{reference}:{cheat.base}",
            new=f"{FOLDER / 'cheats.py'}:{cheat.name}",
            inputs=(f"{reference}:{cheat.inputs}",),
            plan=plan,
            processes=processes,
        )
    )


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_cheat_is_caught(cheat: Cheat) -> None:
    result = judged(cheat, CLOSED)
    assert result.verdict == "wrong"
    assert cheat.caught_by in result.problems[0]
    assert not {"cheats", "reference"} & sys.modules.keys()  # the judge has imported neither


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_cheat_gets_through_where_its_gate_is_open(cheat: Cheat) -> None:
    result = judged(cheat, replace(CLOSED, **{cheat.gate: False}))
    assert result.correct, result.problems


def test_stopped_clocks_deceive_only_those_who_ask_the_judged_process() -> None:
    cheat = Cheat("patches_clock", "judges_clock", "")
    caught = judged(cheat, CLOSED)
    assert caught.correct
    assert min(caught.new.times_ms[0]) > 1e-5
    fooled = judged(cheat, replace(CLOSED, judges_clock=False))
    assert fooled.correct
    assert max(fooled.new.times_ms[0]) < 1e-5


def test_work_before_the_clock_starts_shows_in_cpu_time() -> None:
    """What follows from it is decided by `clocks` and `ab_result`, on times that no busy machine disturbs."""
    plan = TrialPlan(lap_ms=1e-3)
    reference, cheats = FOLDER / "reference.py", FOLDER / "cheats.py"
    with ExitStack() as stack:
        maker, base, new = (stack.enter_context(RunnerProcess(name)) for name in ("INPUTS", BASE, NEW))
        inputs = Inputs(InputProcess(maker, f"{reference}:inputs").make)
        pair = Pair(
            RemoteSide(base, BASE, f"{reference}:slow", plan.terms),
            RemoteSide(new, NEW, f"{cheats}:works_early", plan.terms),
        )
        laps = list(turns(pair, inputs, plan.checker, calls=[1, 1], count=5))
    assert all(turn.comparison.is_right for turn in laps)
    settled = laps[2:]  # the first call of each case installs the cheat
    base_ns = median(turn.base.early_cpu_ns for turn in settled)
    assert median(turn.new.early_cpu_ns for turn in settled) > 3 * base_ns
