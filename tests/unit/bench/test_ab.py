"""ab_test: within this process, on plain values and numpy arrays."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rocm_perf
from rocm_perf.bench.ab_result import AbResult, ab_result, pair_samples, paired_difference
from rocm_perf.bench.judge.clocks import PairTimes
from rocm_perf.bench.judge.gates import CLOSED, Gates
from rocm_perf.bench.judge.inputs import Inputs
from rocm_perf.bench.judge.lap import JudgedError
from rocm_perf.bench.judge.trial import Trial, TrialPlan
from rocm_perf.bench.judge.values import size_bytes
from rocm_perf.bench.samples import Result
from rocm_perf.errors import UsageError
from rocm_perf.statistics import Difference

X = np.linspace(0.0, 1.0, 1000)


def slow(x: Any) -> Any:
    for _ in range(200):
        np.sort(x)
    return np.sort(x)


def quick(x: Any) -> Any:
    return np.sort(x)


def ab_test(base: Any, new: Any, inputs: Any, **options: Any) -> AbResult:
    result: AbResult = rocm_perf.ab_test(base, new, inputs, **{"laps": 12, "lap_ms": 0.01, **options})
    return result


def test_a_result_unpacks_and_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    correct, speedup = ab_test(slow, quick, (X,))
    assert correct is True
    assert speedup > 5
    printed = capsys.readouterr().out
    for word in ("Correct:   yes", "Baseline:", "Optimized:", "Speedup:", "this process alone", "Verdict:"):
        assert word in printed


def test_a_wrong_result_has_no_speedup(capsys: pytest.CaptureFixture[str]) -> None:
    result = ab_test(slow, lambda x: x[:0], (X,), quiet=True)
    assert not result.correct
    assert math.isnan(result.speedup)
    assert result.interval is None
    assert result.verdict == "wrong"
    assert "result has the shape [0], expected [1000]" in result.problems
    assert capsys.readouterr().out == ""


def test_a_tolerance_is_absolute() -> None:
    def off(x: Any) -> Any:
        return np.sort(x) + 0.005

    assert not ab_test(quick, off, (X,), quiet=True).correct
    assert ab_test(quick, off, (X,), tolerance=1e-2, quiet=True).correct


def test_plain_values_and_keyword_arguments() -> None:
    def total(values: list[float], scale: float) -> float:
        return math.fsum(values) * scale

    def other_total(values: list[float], scale: float) -> float:
        return sum(values) * scale

    result = ab_test(total, other_total, {"values": [0.5, 1.5, 7.0], "scale": 2.0}, quiet=True)
    assert result.correct


def test_several_shapes_are_told_apart() -> None:
    result = ab_test(quick, quick, lambda: [(X[:10],), (X[:50],)], quiet=True)
    assert [case.arguments for case in result.cases] == ["float64[10]", "float64[50]"]


def test_a_mistake_in_one_shape_is_found() -> None:
    def breaks(x: Any) -> Any:
        return np.sort(x) if len(x) == 10 else x

    result = ab_test(quick, breaks, lambda: [(X[:10],), (X[:50][::-1].copy(),)], quiet=True)
    assert result.problems[0].startswith("case 2, result: ")


def test_in_place_arguments_are_compared() -> None:
    def double(x: Any) -> None:
        x *= 2

    def triple(x: Any) -> None:
        x *= 3

    assert ab_test(double, double, (X,), in_place=(0,), quiet=True).correct
    (problem, *_) = ab_test(double, triple, (X,), in_place=(0,), quiet=True).problems
    assert problem.startswith("argument 0: ")


def test_an_in_place_argument_has_to_be_there() -> None:
    with pytest.raises(UsageError, match="there is no argument 1 to be changed in place: the inputs are 0"):
        ab_test(quick, quick, (X,), in_place=(1,))


def test_a_base_that_changes_its_inputs_is_refused() -> None:
    def double(x: Any) -> None:
        x *= 2

    with pytest.raises(JudgedError, match="BASE failed: argument 0 is not as it was before the call"):
        ab_test(double, double, (X,))


def test_a_base_that_does_not_repeat_itself_is_refused() -> None:
    random = np.random.default_rng(1)
    with pytest.raises(JudgedError, match="another result when called again"):
        ab_test(lambda x: x + random.random(), quick, (X,))


def test_a_new_that_raises_is_wrong() -> None:
    result = ab_test(quick, lambda x: x.absent, (X,), quiet=True)
    assert result.problems == ("it raised AttributeError: 'numpy.ndarray' object has no attribute 'absent'",)


def test_a_base_that_returns_nothing_is_refused() -> None:
    with pytest.raises(JudgedError, match="BASE failed: it returns nothing"):
        ab_test(lambda x: None, lambda x: None, (X,))


def test_a_base_that_raises_leaves_nothing_to_compare() -> None:
    with pytest.raises(JudgedError, match="BASE failed: it raised AttributeError"):
        ab_test(lambda x: x.absent, quick, (X,))


def test_inputs_that_are_not_data_are_refused() -> None:
    with pytest.raises(UsageError, match=r"functools\.partial"):
        ab_test(quick, quick, (object(),))


def test_inputs_that_cannot_change_are_doubted() -> None:
    result = ab_test(abs, abs, (-3,), quiet=True)
    assert any("every call had the same inputs" in doubt for doubt in result.doubts)


def test_json_has_no_number_that_json_lacks() -> None:
    result = ab_test(quick, lambda x: x * np.nan, (X,), quiet=True)
    text = json.dumps(result.to_json(), allow_nan=False)
    assert json.loads(text)["speedup"] is None


def timed(early_share: float, gates: Gates = CLOSED) -> AbResult:
    """NEW takes half of BASE's time in three pairs of processes."""
    trial = Trial(TrialPlan(gates=gates), Inputs(lambda seed: [(float(seed),)]))
    pair = PairTimes("own clock", base=((2.0,) * 12,), new=((1.0,) * 12,), early_share=early_share)
    base, new = (Result(target="", processes=samples) for samples in pair_samples([pair] * 3, "wall clock"))
    return ab_result(trial, [pair] * 3, base=base, new=new)


def test_what_was_computed_before_the_clock_started_is_not_better() -> None:
    assert timed(early_share=0.1).verdict == "better"
    caught = timed(early_share=0.9)
    assert caught.verdict == "no difference shown"
    assert "worked on its inputs for 90.0 % of the time that it then saved" in caught.doubts[-1]
    assert timed(early_share=0.9, gates=replace(CLOSED, idle_before=False)).verdict == "better"


@pytest.mark.parametrize(("allowed", "fails"), [(0.0, True), (0.99, True), (1.01, False)])
def test_slower_than_allowed_fails(allowed: float, fails: bool) -> None:
    result = timed(early_share=0.0)
    slower = replace(result, verdict="worse", difference=Difference(2.0, None, "worse"))
    assert slower.fails(allowed) == fails
    assert not result.fails(allowed)


def test_pairs_are_the_unit_of_a_difference() -> None:
    """Processes in two modes: times differ by half between pairs, and by a tenth within each."""
    base = [[10.0] * 12, [15.0] * 12, [10.1] * 12, [15.2] * 12, [10.2] * 12, [15.1] * 12]
    new = [[0.9 * time for time in pair] for pair in base]
    shown = paired_difference(base, new)
    assert shown.verdict == "better"
    assert shown.ratio == pytest.approx(0.9)


def test_totals_are_one_call_of_every_case() -> None:
    times = PairTimes("own clock", base=((1.0, 2.0), (10.0, 20.0)), new=((1.0, 1.0), (5.0, 5.0)))
    assert times.totals("base") == (11.0, 22.0)
    assert times.totals("new") == (6.0, 6.0)


def test_medians_that_contradict_the_pairs_are_doubted() -> None:
    """In nearly all pairs NEW is a tenth faster; the medians of all processes fall into two modes."""
    trial = Trial(TrialPlan(), Inputs(lambda seed: [(float(seed),)]))
    pairs = [
        PairTimes("own clock", base=((time,) * 12,), new=((share * time,) * 12,))
        for time, share in [(1.0, 0.9)] * 5 + [(8.0, 0.9)] * 5 + [(1.0, 10.0)] * 2
    ]
    base, new = (Result(target="", processes=samples) for samples in pair_samples(pairs, "wall clock"))
    result = ab_result(trial, pairs, base=base, new=new)
    assert result.verdict == "better"
    assert "the medians of all processes say 0.14x" in result.doubts[-1]
    assert not any("too noisy" in doubt for doubt in timed(0.0).doubts)


def test_a_long_list_is_handed_over_fewer_times() -> None:
    assert size_bytes(["0.5"] * 1000) == 1000 * size_bytes("0.5") > size_bytes([0.5] * 1000) > 8 * 1000


def test_laps_before_base_failed_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    calls = iter(range(1_000_000))

    def fails_later(x: Any) -> Any:
        if next(calls) == 16:
            raise OSError("no device")
        return np.sort(x)

    result = ab_test(fails_later, quick, (X,))
    assert result.failure == "BASE failed: it raised OSError: no device"
    assert 0 < len(result.base.processes[0].times_ms) < 12
    assert "Failed:    BASE failed: it raised OSError: no device; the times above" in capsys.readouterr().out


def test_a_base_that_fails_before_anything_was_timed_is_an_error() -> None:
    calls = iter(range(1_000_000))

    def fails_soon(x: Any) -> Any:
        if next(calls) == 5:
            raise OSError("no device")
        return np.sort(x)

    with pytest.raises(JudgedError, match="BASE failed: it raised OSError: no device"):
        ab_test(fails_soon, quick, (X,))


@pytest.mark.parametrize(("slower", "verdict"), [(1.001, "no difference shown"), (1.005, "worse")])
def test_what_the_same_code_differs_by_is_no_difference(slower: float, verdict: str) -> None:
    base = [[10.0 + 0.001 * number] * 12 for number in range(6)]
    new = [[slower * time for time in pair] for pair in base]
    assert paired_difference(base, new).verdict == verdict
