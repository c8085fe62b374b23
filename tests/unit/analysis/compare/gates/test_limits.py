"""Whether a range of values keeps a limit."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.compare.gates.expressions import parse
from rocm_perf.analysis.compare.gates.limits import Value, check, outcome
from rocm_perf.model.results.check import Outcome


def value(relative: tuple[float, float] | None, change: tuple[float, float] | None = None) -> Value:
    ranges = {"relative change": relative, "change": change}
    return Value("x", {of: bounds for of, bounds in ranges.items() if bounds}, "1 -> 2")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("limit", "low", "high", "expected"),
    [
        ("x>3%", 0.04, 0.06, "failed"),
        ("x>3%", 0.02, 0.04, "undecided"),
        ("x>3%", -0.01, 0.02, "passed"),
        ("x>3%", 0.03, 0.03, "passed"),  # at the limit, not above it
        ("x<-10%", -0.3, -0.2, "failed"),
        ("x<-10%", -0.05, 0.1, "passed"),
        ("x<-10%", -0.15, 0.0, "undecided"),
    ],
)
def test_it_passes_only_where_it_is_shown_to_be_kept(
    limit: str, low: float, high: float, expected: Outcome
) -> None:
    assert outcome(parse(limit).limits, value((low, high))) == expected


@pytest.mark.parametrize(
    ("relative", "change", "expected"),
    [
        ((0.04, 0.06), (60e3, 70e3), "failed"),
        ((0.04, 0.06), (10e3, 20e3), "passed"),  # a large share of next to nothing
        ((0.001, 0.002), (60e3, 70e3), "passed"),  # a small share of very much
        ((0.02, 0.06), (60e3, 70e3), "undecided"),
        ((0.04, 0.06), None, "undecided"),
        ((0.01, 0.02), None, "passed"),
    ],
)
def test_limits_together_must_all_be_exceeded(
    relative: tuple[float, float], change: tuple[float, float] | None, expected: Outcome
) -> None:
    assert outcome(parse("x>3% and +50us").limits, value(relative, change)) == expected


def test_the_worst_value_decides_and_comes_first() -> None:
    limits = parse("x>3%").limits
    result = check("x>3%", limits, [value((0, 0)), value(None), value((0.1, 0.2))], "nothing")
    assert result.outcome == "failed"
    assert result.details[0] == "x: 1 -> 2"
    assert "cannot tell" in result.details[1]


def test_nothing_to_judge_is_not_kept() -> None:
    result = check("x>3%", parse("x>3%").limits, [], "no such thing")
    assert (result.outcome, result.passed, result.details) == ("undecided", False, ("no such thing",))


def test_long_lists_are_cut() -> None:
    result = check("x>3%", parse("x>3%").limits, [value((0, 0))] * 20, "nothing")
    assert (len(result.details), result.details[-1]) == (9, "and 12 more")
