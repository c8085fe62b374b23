"""What an A/B test has shown: a verdict, the numbers behind it, and what speaks against them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal

from rocm_perf.bench.judge.clocks import PairTimes, SideName
from rocm_perf.bench.judge.trial import Trial
from rocm_perf.bench.judge.values import described
from rocm_perf.bench.samples import Clock, Result, Samples
from rocm_perf.statistics import FEWEST_A_SIDE, Difference, Scope, interval
from rocm_perf.statistics.differences import verdict
from rocm_perf.units import NS_PER_MS, format_count, format_ns, format_share

SCHEMA_VERSION = 1
_SHOWN_PROBLEMS = 5
_ALIKE = 0.01  # of a ratio
_SAME_CODE = (
    0.002  # of a ratio: placed elsewhere in memory, the same code differs by some of it (0.1 % on an H200)
)
_MOST_EARLY = 0.3  # of the time that NEW saves; less of it cannot explain a verdict
_WORKED_EARLY = (
    "before the clock started, NEW's process worked on its inputs for {share} of the time that it then saved. "
    "Threads that spin while they wait look the same: try OMP_WAIT_POLICY=passive"
)
_NOISY = (
    "the medians of all processes say {medians:.2f}x and the ratios within pairs something else: the machine is too "
    "noisy for this function. Close what else runs, or time larger inputs"
)
_SIDES: tuple[SideName, SideName] = ("base", "new")
AbVerdict = Literal["better", "worse", "no difference shown", "wrong"]


@dataclass(frozen=True, kw_only=True)
class AbCase:
    """The times of one case: of one shape, mostly."""

    arguments: str
    base_ms: float
    new_ms: float
    difference: Difference


@dataclass(frozen=True, kw_only=True)
class AbResult:
    """Whether NEW is right, and how many times as fast as BASE. Unpacks as `correct, speedup`."""

    verdict: AbVerdict
    problems: tuple[str, ...]  # what is wrong with NEW; empty if it is correct
    doubts: tuple[str, ...]  # what speaks against the numbers
    largest_absolute_error: float
    largest_relative_error: float
    checked_calls: int
    base: Result
    new: Result
    difference: Difference | None  # None: there are no times, because NEW is wrong
    cases: tuple[AbCase, ...]
    scope: Scope
    failure: str = ""  # why it ended before it was done; what was timed until then is kept

    @property
    def correct(self) -> bool:
        return not self.problems

    @property
    def speedup(self) -> float:
        """How many times as fast NEW is as BASE; NaN if it is wrong: a wrong result has no speed."""
        return self.difference.speedup if self.difference and self.correct else math.nan

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the speedup lies; None if it is wrong, or too few samples were taken."""
        bounds = self.difference.interval if self.difference and self.correct else None
        return None if bounds is None else (1 / bounds.high, 1 / bounds.low)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.correct, self.speedup))

    def fails(self, allowed: float = 0.0) -> bool:
        """Whether NEW is wrong, or shown to be slower by more than a share of BASE's time."""
        if not self.correct:
            return True
        slower = self.difference is not None and self.difference.ratio > 1 + allowed
        return self.verdict == "worse" and slower

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict,
            "correct": self.correct,
            "speedup": self.speedup if self.correct and self.difference else None,
            "interval": self.interval,
            "scope": self.scope,
            "failure": self.failure,
            "problems": self.problems,
            "doubts": self.doubts,
            "largest_absolute_error": self.largest_absolute_error,
            "largest_relative_error": self.largest_relative_error,
            "checked_calls": self.checked_calls,
            "cases": [asdict(case) for case in self.cases],
            "base": self.base.to_json(),
            "new": self.new.to_json(),
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """The result as people read it."""
        yield f"Correct:   {'yes' if self.correct else 'no'} ({self._checks()})"
        yield from (f"           {problem}" for problem in self.problems[:_SHOWN_PROBLEMS])
        if len(self.problems) > _SHOWN_PROBLEMS:
            yield f"           and {len(self.problems) - _SHOWN_PROBLEMS} more"
        if self.difference and self.correct:
            yield f"Baseline:  {self._time(self.base)}"
            yield f"Optimized: {self._time(self.new)}"
            yield f"Speedup:   {self.speedup:.2f}x{self._bounds()}"
            if len(self.cases) > 1:
                yield from (f"           {_case_line(case)}" for case in self.cases)
        yield f"Verdict:   {self.verdict}"
        if self.failure:
            yield f"Failed:    {self.failure}; the times above were taken before"
        yield from (f"Doubt:     {doubt}" for doubt in self.doubts)

    def _checks(self) -> str:
        errors = (
            f"largest error {self.largest_absolute_error:.3g}, relative {self.largest_relative_error:.3g}"
        )
        return f"{format_count(self.checked_calls, 'call')} compared, {errors}"

    def _time(self, result: Result) -> str:
        processes = format_count(len(result.processes), "process", "processes")
        clock = result.processes[0].clock if result.processes else ""
        return f"{format_ns(result.median_ms * NS_PER_MS)} ({processes}, {clock})"

    def _bounds(self) -> str:
        if self.interval is None:
            if self.scope == "over processes":
                return f" (no interval from so few processes: {FEWEST_A_SIDE} of each are the fewest)"
            return f" (too few samples for an interval, {self.scope})"
        low, high = self.interval
        return f" ({low:.2f}x to {high:.2f}x, {self.scope})"


def _case_line(case: AbCase) -> str:
    times = f"{format_ns(case.base_ms * NS_PER_MS)} -> {format_ns(case.new_ms * NS_PER_MS)}"
    return f"{case.arguments}: {times}, {case.difference.speedup:.2f}x"


def ab_result(
    trial: Trial, pairs: Sequence[PairTimes], *, base: Result, new: Result, doubts: Iterable[str] = ()
) -> AbResult:
    """The result of a trial and of the times that its pairs of processes took."""
    apart = paired_difference(base.times_ms, new.times_ms) if pairs else None
    outcome, early = _verdict(trial, pairs, apart)
    return AbResult(
        verdict=outcome,
        problems=trial.comparison.problems,
        doubts=tuple(
            dict.fromkeys(
                (
                    *doubts,
                    *trial.doubts,
                    *(one for pair in pairs for one in pair.doubts),
                    *early,
                    *(_noise(base, new, apart) if apart else ()),
                )
            )
        ),
        largest_absolute_error=trial.comparison.largest_absolute,
        largest_relative_error=trial.comparison.largest_relative,
        checked_calls=trial.checked_calls,
        base=base,
        new=new,
        difference=apart,
        cases=_cases(pairs, [described(arguments) for arguments in trial.inputs.template]),
        scope="over processes" if len(pairs) > 1 else "this process alone",
        failure=str(trial.failure or ""),
    )


def _verdict(
    trial: Trial, pairs: Sequence[PairTimes], apart: Difference | None
) -> tuple[AbVerdict, tuple[str, ...]]:
    """The verdict, and the doubt that decided it, if one did."""
    if not trial.is_right:
        return "wrong", ()
    if apart is None:
        return "no difference shown", ()
    early = median(pair.early_share for pair in pairs)
    if apart.verdict == "better" and trial.plan.gates.idle_before and early > _MOST_EARLY:
        return "no difference shown", (_WORKED_EARLY.format(share=format_share(early)),)
    return apart.verdict, ()


def _noise(base: Result, new: Result, apart: Difference) -> Iterator[str]:
    """That the medians which are shown contradict the speedup."""
    medians, bounds = base.median_ms / new.median_ms, apart.interval
    if bounds is not None and not (1 - _ALIKE) / bounds.high <= medians <= (1 + _ALIKE) / bounds.low:
        yield _NOISY.format(medians=medians)


def paired_difference(base: Sequence[Sequence[float]], new: Sequence[Sequence[float]]) -> Difference:
    """NEW's times over BASE's. Laps of a pair of processes are taken in turns on the same inputs, so what the machine
    does meanwhile meets both: the ratio within each pair counts, and pairs are the unit. Two pairs have no interval:
    if each function may be fast or slow by process, they agree by chance in one of eight cases."""
    ratios = [
        [after / before for before, after in zip(*sides, strict=True)]
        for sides in zip(base, new, strict=True)
    ]
    bounds = interval(ratios) if len(ratios) == 1 or len(ratios) >= FEWEST_A_SIDE else None
    return Difference(median([median(pair) for pair in ratios]), bounds, verdict(bounds, _SAME_CODE))


def pair_samples(pairs: Sequence[PairTimes], clock: Clock) -> tuple[tuple[Samples, ...], tuple[Samples, ...]]:
    """The times of BASE and of NEW, by process: one call of every case per sample."""
    base, new = (tuple(Samples(times_ms=pair.totals(side), clock=clock) for pair in pairs) for side in _SIDES)
    return base, new


def _cases(pairs: Sequence[PairTimes], arguments: Sequence[str]) -> tuple[AbCase, ...]:
    """The times of every case on its own."""
    if not pairs:
        return ()
    return tuple(
        _case([pair.base[number] for pair in pairs], [pair.new[number] for pair in pairs], text)
        for number, text in enumerate(arguments)
    )


def _case(base: Sequence[Sequence[float]], new: Sequence[Sequence[float]], arguments: str) -> AbCase:
    base_ms, new_ms = (median([median(times) for times in side]) for side in (base, new))
    return AbCase(
        arguments=arguments, base_ms=base_ms, new_ms=new_ms, difference=paired_difference(base, new)
    )
