"""The gate: what it lets through, what it stops, what it refuses, and how often it is wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rocm_perf.bench.history.gate import Judgement, judge, judge_session
from rocm_perf.bench.history.records import SavedRun
from rocm_perf.bench.samples import Samples
from rocm_perf.errors import EmptyCaptureError
from tests.unit.bench.history.runs import MACHINE, drawn, level, run, shown

TESTED = level(10.0, test=shown(0.02))
BEFORE = [TESTED, level(10.01), level(9.99)]


def judged(runs: Sequence[SavedRun], **options: float) -> Judgement:
    return judge(runs, last=10, at_least=options.get("at_least"))


def test_a_slower_run_is_worse_and_a_faster_one_better() -> None:
    assert judged([*BEFORE, level(10.5)]).verdict == "worse"
    assert judged([*BEFORE, level(9.5)]).verdict == "better"
    assert judged([*BEFORE, level(10.0)]).verdict == "no difference shown"


def test_below_what_the_machine_can_show_nothing_is_judged() -> None:
    judgement = judged([*BEFORE, level(10.15)])
    assert judgement.over_processes.verdict == "worse"
    assert judgement.verdict == "no difference shown"
    assert judgement.reason == "1.5 % is below 2.0 %, the smallest difference that is judged here"
    assert judgement.threshold_source == "the self-test"


def test_the_user_can_ask_for_more_and_not_for_less_than_the_machine_shows() -> None:
    assert judged([*BEFORE, level(10.5)], at_least=0.1).verdict == "no difference shown"
    assert judged([*BEFORE, level(10.15)], at_least=0.001).threshold == 0.02


def test_without_a_self_test_the_gate_is_closed_unless_the_user_says_what_matters() -> None:
    runs = [level(10.0), level(10.0), level(11.0)]
    with pytest.raises(EmptyCaptureError, match="bench --self-test --save"):
        judged(runs)
    assert judged(runs, at_least=0.03).verdict == "worse"


def test_the_self_test_for_as_many_processes_counts() -> None:
    both = replace(TESTED, self_tests=(shown(0.08, 3), shown(0.02, 5), shown(0.001, 10)))
    assert judged([both, level(10.0), level(10.0)]).threshold == 0.02
    three = run([10.0], [10.01], [10.02])
    assert judged([both, level(10.0), three]).threshold == 0.08


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ([], "it is the only one"),
        ([level(10.0, machine={**MACHINE, "uuid": "GPU-2"})], "differs in its machine"),
        ([level(10.0, machine={**MACHINE, "gpu": "MI250"})], "differs in its gpu"),
        ([level(10.0, settings={"warmup": 10, "cold": True})], "differs in its settings"),
        (
            [run([10.0], processes=(Samples(times_ms=(10.0,), clock="wall clock"),) * 3)],
            "differs in its clock",
        ),
        (
            [run(processes=(Samples(times_ms=(10.0,), clock="device events", fault="hung"),) * 3)],
            "the newest failed",
        ),
    ],
)
def test_nothing_comparable_closes_the_gate(others: list[SavedRun], why: str) -> None:
    with pytest.raises(EmptyCaptureError, match="Measure the state before the change") as refusal:
        judged([*others, level(10.0)], at_least=0.03)
    assert why in str(refusal.value)


def test_a_container_has_another_host_name_and_the_same_gpu() -> None:
    assert judged([*BEFORE, level(10.0, machine={**MACHINE, "host": "container7"})]).base


def test_an_update_of_torch_is_no_excuse() -> None:
    assert judged([*BEFORE, level(11.0, machine={**MACHINE, "torch": "2.10.0"})]).verdict == "worse"


def test_against_a_commit() -> None:
    runs = [
        level(8.0, commit="aaa1"),
        level(10.0, commit="bbb2"),
        level(9.0, commit="bbb2-dirty"),
        level(10.1),
    ]
    assert judge(runs, last=10, at_least=0.03, against="aaa").verdict == "worse"
    assert judge(runs, last=10, at_least=0.03, against="bbb").verdict == "no difference shown"
    with pytest.raises(EmptyCaptureError, match=r"no run of commit ccc .*another commit"):
        judge(runs, last=10, at_least=0.03, against="ccc")


def test_one_process_is_not_judged() -> None:
    with pytest.raises(EmptyCaptureError, match="--processes 3"):
        judged([*BEFORE, run([10.0] * 50)])


def test_a_failed_run_is_not_judged() -> None:
    broken = run(
        processes=(Samples(times_ms=(10.0,), clock="device events", fault="raised", error="call 57"),)
    )
    with pytest.raises(EmptyCaptureError, match="call 57"):
        judged([*BEFORE, broken])


def alarms(*, day: float, shift: float, seeds: int = 400) -> float:
    """How often the sixth run is called worse than five before it, where what matters is 2 %."""
    worse = 0
    for seed in range(seeds):
        source = random.Random(seed)
        runs = [drawn(source, day=day) for _ in range(5)] + [drawn(source, day=day, shift=shift)]
        worse += judge(runs, last=10, at_least=0.02).verdict == "worse"
    return worse / seeds


@pytest.mark.thorough
def test_days_that_differ_do_not_close_the_gate() -> None:
    """Processes of one day agree to 0.5 %, days to 2 %: judged over processes alone, the gate would often close."""
    assert alarms(day=0.02, shift=0.0) <= 0.04
    assert alarms(day=0.0, shift=0.0) == 0
    naive = sum(
        judge([drawn(source, day=0.02), drawn(source, day=0.02)], last=1, at_least=0.02).verdict == "worse"
        for source in map(random.Random, range(400))
    )
    assert naive / 400 > 0.15


@pytest.mark.thorough
def test_a_regression_of_five_percent_closes_it() -> None:
    assert alarms(day=0.0, shift=0.05) == 1
    assert alarms(day=0.005, shift=0.05) >= 0.95


def sessions(*medians: float) -> list[SavedRun]:
    return [run([median] * 20) for median in medians]


def test_a_session_is_judged_against_those_before() -> None:
    assert judge_session(sessions(10.0, 10.1, 9.9, 10.0, 10.05), last=10) == ""
    assert "is slower than in 4 sessions before" in judge_session(
        sessions(10.0, 10.1, 9.9, 10.0, 12.0), last=10
    )
    with pytest.raises(EmptyCaptureError, match="--rocm-perf-save"):
        judge_session(sessions(10.0, 10.0, 12.0), last=10)


@pytest.mark.thorough
def test_sessions_without_a_change_seldom_fail() -> None:
    source = random.Random(5)
    worse = sum(
        bool(judge_session(sessions(*(10 + source.gauss(0, 0.1) for _ in range(8))), last=10))
        for _ in range(1000)
    )
    assert worse <= 12  # half of 1 %, and chance
