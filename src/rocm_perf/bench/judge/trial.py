"""One trial of NEW against BASE: correctness first, then laps, in one pair of processes or several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product

from rocm_perf.bench.judge.checking import Checker, Pair, argument_names
from rocm_perf.bench.judge.comparison import Comparer, Comparison
from rocm_perf.bench.judge.gates import CLOSED, LOOSE_TOLERANCE, Gates
from rocm_perf.bench.judge.inputs import Inputs
from rocm_perf.bench.judge.lap import NEW, JudgedError
from rocm_perf.bench.judge.timing import Turn, calls_per_lap, turns
from rocm_perf.bench.judge.tolerance import Tolerance
from rocm_perf.bench.judge.values import Value
from rocm_perf.bench.judge.workbench import Terms
from rocm_perf.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class TrialPlan:
    """How thorough a trial is."""

    tolerance: float | None = None  # absolute; None: by type
    in_place: tuple[int | str, ...] = ()
    compares_strides: bool = True
    rounds: int = 3  # of fresh inputs, each case once, before anything is timed
    warmup_laps: int = 2  # compared, but not timed
    laps: int = 15  # timed, per pair of processes and case
    lap_ms: float = 10.0
    gates: Gates = CLOSED

    @property
    def terms(self) -> Terms:
        """How the functions are called."""
        return Terms(
            in_place=self.in_place,
            reuses_buffers=self.gates.reused_buffers,
            is_lenient=not self.gates.plain_results,
        )

    @property
    def checker(self) -> Checker:
        """What is asked of every call."""
        loose = None if self.gates.type_tolerance else LOOSE_TOLERANCE
        comparer = Comparer(
            tolerance=Tolerance(self.tolerance if self.tolerance is not None else loose),
            compares_strides=self.compares_strides,
            nan_is_wildcard=not self.gates.exact_nan,
        )
        return Checker(comparer=comparer, in_place=self.in_place, gates=self.gates)


class Trial:
    """What a trial has shown so far. It is over at the first wrong result."""

    def __init__(self, plan: TrialPlan, inputs: Inputs) -> None:
        for arguments in inputs.template:
            _require_arguments(plan.in_place, arguments)
        self.plan = plan
        self.inputs = inputs
        self.cases = len(inputs.template)
        self.comparison = Comparison()
        self.checked_calls = 0
        self.failure: JudgedError | None = None  # of BASE, after which nothing can be compared
        self._checker = plan.checker
        self._calls: list[int] = []  # per lap, by case

    @property
    def is_right(self) -> bool:
        return self.comparison.is_right

    @property
    def doubts(self) -> Iterator[str]:
        """What the inputs leave open."""
        if self.inputs.unchanging:
            yield (
                "every call had the same inputs, so a result that was kept from an earlier call would not be noticed: "
                "give a function that makes fresh ones"
            )

    def check(self, pair: Pair) -> None:
        """Compare both functions on every case, in several rounds of fresh inputs; then see how many calls of BASE
        make a lap."""
        with self._blaming_new():
            for _, case in product(range(self.plan.rounds), range(self.cases)):
                self._add(self._checker.check(pair, self.inputs.fresh(case)), case)
                if not self.is_right:
                    return
        self._calls = [
            calls_per_lap(pair, self.inputs.fresh(case), self.plan.lap_ms) for case in range(self.cases)
        ]

    def time(self, pair: Pair) -> list[Turn]:
        """Laps of both functions in this pair of processes, up to a failure. Those that warm up are checked like the
        others, but not returned."""
        timed: list[Turn] = []
        count = self.plan.warmup_laps + self.plan.laps
        try:
            with self._blaming_new():
                for turn in turns(pair, self.inputs, self._checker, calls=self._calls, count=count):
                    self._add(turn.comparison, turn.case)
                    if not self.is_right:
                        break
                    timed.append(turn)
        except JudgedError as error:
            self.failure = error
        whole = len(timed) - len(timed) % self.cases
        return timed[self.plan.warmup_laps * self.cases : whole]

    def _add(self, comparison: Comparison, case: int) -> None:
        self.checked_calls += 1
        where = f"case {case + 1}, " if self.cases > 1 else ""
        problems = tuple(f"{where}{problem}" for problem in comparison.problems)
        self.comparison += replace(comparison, problems=problems)

    @contextmanager
    def _blaming_new(self) -> Iterator[None]:
        """Whatever NEW fails with is its result; what BASE fails with leaves nothing to compare with."""
        try:
            yield
        except JudgedError as error:
            if error.side != NEW:
                raise
            self.comparison += Comparison(problems=(error.reason,))


def _require_arguments(names: tuple[int | str, ...], arguments: Value) -> None:
    """Raise UsageError for an in-place argument that is not there."""
    known = argument_names(arguments)
    for name in names:
        if name not in known:
            raise UsageError(
                f"there is no argument {name} to be changed in place",
                f"the inputs are {', '.join(map(str, known)) or 'none'}",
                "Arguments count from 0; keyword arguments have names.",
            )
