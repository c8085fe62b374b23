"""A candidate against what it is to replace, in the replay runner: launched by turns on the same memory, in fresh
processes, which are the unit of the statistics. Every other process runs on other contents than captured, where a
kernel that merely recognises its input is no faster. No line of the candidate's host code runs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.bench.ab_result import paired_difference
from rocm_perf.model.results.optimize import Speedup
from rocm_perf.model.results.replay import Verification
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.proof.inputs import FreshInputs, StateInputs
from rocm_perf.optimize.proof.states import CANDIDATE_FAILS, State, Variant
from rocm_perf.optimize.proof.timed import Timed, timed_passage
from rocm_perf.optimize.proof.values import Change
from rocm_perf.replay.errors import KernelFailedError
from rocm_perf.replay.plan import Code, Options
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.run import Answer
from rocm_perf.replay.verify import Examined
from rocm_perf.replay.writes import restoring_writes_of
from rocm_perf.statistics import Difference
from rocm_perf.statistics.series import median
from rocm_perf.units import format_count

NEW, BASE, AGAIN = "new", "base", "again"
FEWEST_PROCESSES = 6  # whose extremes hold a median at 95 %
_TURNS = 6  # rounds after which the runner's order of three codes repeats
_NEW_LAST = (2, 3)  # numbers of rounds, modulo that, after which the first of three codes was launched last


@dataclass(frozen=True, kw_only=True)
class Turns:
    """How much is measured."""

    processes: int = FEWEST_PROCESSES
    iterations: int = 30
    warmup: int = 3


@dataclass(frozen=True)
class ByContents:
    """The speedup on the memory as captured, and on other contents of it."""

    captured: float
    others: float


@dataclass(frozen=True)
class ReplayAb:
    """What the replay runner has shown."""

    speedup: Speedup
    noise: float  # what the base differs by from itself, loaded twice, as a share
    timed: Passage  # whether the timed launches left the right result
    states_ns: tuple[float, ...]  # what one launch of the candidate takes on each state, where it is fastest
    by_contents: ByContents | None  # None: nothing could be changed


def replay_ab(
    inputs: FreshInputs,
    new: Variant,
    base: Variant | None = None,
    turns: Turns | None = None,
    *,
    seed: int = 0,
) -> ReplayAb:
    """How a candidate compares with its base, which is the original unless another one is given."""
    plan, source = turns or Turns(), random.Random(seed)
    with ExitStack() as stack:
        benches = [_Bench.of(one, (new, base), stack, seed) for one in inputs.states]
        rounds = [
            [bench.process(number, plan, source) for bench in benches] for number in range(plan.processes)
        ]
    sides = [[_totals(one, label) for one in rounds] for label in (NEW, BASE, AGAIN)]
    return ReplayAb(
        speedup=speedup_of(sides[1], sides[0], _how(len(benches), plan)),
        noise=noise_of(paired_difference(sides[1], sides[2])),
        timed=timed_passage([process.timed for one in rounds for process in one]),
        states_ns=tuple(min(one[place].new_ns for one in rounds) for place in range(len(benches))),
        by_contents=_by_contents(rounds, sides),
    )


def _by_contents(
    rounds: Sequence[Sequence[_Process]], sides: Sequence[Sequence[list[float]]]
) -> ByContents | None:
    new, base, _ = sides
    ratios: dict[bool, list[float]] = {False: [], True: []}
    for number, one in enumerate(rounds):
        others = any(process.on_others for process in one)
        ratios[others].append(median(base[number]) / median(new[number]))
    return ByContents(*map(median, ratios.values())) if all(ratios.values()) else None


def _how(states: int, turns: Turns) -> str:
    launches = format_count(turns.iterations, "launch", "launches")
    where = f"{format_count(states, 'dispatch', 'dispatches')}, {launches} of each by turns"
    return f"replay of {where} in {format_count(turns.processes, 'process', 'processes')}"


def speedup_of(base: Sequence[Sequence[float]], new: Sequence[Sequence[float]], how: str) -> Speedup:
    """The speedup over pairs of series, one pair per process: the ratio within each pair counts."""
    difference = paired_difference(base, new)
    bounds = difference.interval
    return Speedup(
        base_ns=median([median(series) for series in base]),
        new_ns=median([median(series) for series in new]),
        value=difference.speedup,
        interval=None if bounds is None else (1 / bounds.high, 1 / bounds.low),
        how=how,
    )


def noise_of(twice: Difference) -> float:
    """By how much a thing differs from itself, as a share: what the interval of their ratio leaves out of 1."""
    if twice.interval is None:
        return 0.0
    return max(0.0, twice.interval.low - 1, 1 / twice.interval.high - 1)


def warmup_before(turns: Turns, source: random.Random) -> int:
    """How many rounds of warm-up let the candidate come last. Nobody can know the number beforehand, so that a kernel
    that counts its launches cannot tell which result is looked at."""
    least = turns.warmup + source.randrange(_TURNS)
    return next(
        warmup for warmup in range(least, least + _TURNS) if (warmup + turns.iterations) % _TURNS in _NEW_LAST
    )


@dataclass(frozen=True)
class _Process:
    """What one process measured on one state."""

    samples_ns: Mapping[str, tuple[float, ...]]  # by label
    timed: Timed
    on_others: bool  # every launch found other contents than captured

    @property
    def new_ns(self) -> float:
        return median(self.samples_ns[NEW])


@dataclass(frozen=True)
class _Bench:
    """One state, with three codes to be launched by turns. The replayers restore what any of them writes."""

    state: State
    examined: Examined | Verification
    replayer: Replayer
    codes: tuple[Code, ...]
    others: _Others | None  # None: nothing could be changed

    @staticmethod
    def of(inputs: StateInputs, sides: tuple[Variant, Variant | None], stack: ExitStack, seed: int) -> _Bench:
        # The new code comes first: of the first alone the runner dumps variables.
        state, (new, base) = inputs.state, sides
        codes = (state.code(new, NEW), state.code(base, BASE), state.code(base, AGAIN))
        return _Bench(
            state=state,
            examined=state.examined,
            replayer=restoring_writes_of(state.replayer, codes[:2]),
            codes=codes,
            others=_others(inputs, stack, seed, codes[:2]),
        )

    def process(self, number: int, turns: Turns, source: random.Random) -> _Process:
        """Time all codes in a fresh process, and judge what the candidate's last launch left. That launch finds other
        contents than captured, at the same addresses: in every other process all launches do; in the rest it alone
        does, and an answer that was kept is wrong then."""
        others, on_others = self.others, self.others is not None and number % 2 == 1
        options = Options(
            codes=self.codes,
            iterations=turns.iterations,
            warmup=warmup_before(turns, source),
            dumps=self.state.snapshot.saved,
            swap=others.contents if others and not on_others else {},
        )
        answer = (others.replayer if others and on_others else self.replayer).run(options)
        _check(answer, options)
        where = f"{self.state.name}, process {number + 1}{', other inputs' if others else ''}"
        timed = Timed.of(others.examined if others else self.examined, where)
        return _Process(answer.samples_ns, timed, on_others)


@dataclass(frozen=True)
class _Others:
    """A state with other contents than captured."""

    contents: Mapping[int, Path]  # of regions, by their base
    examined: Examined
    replayer: Replayer


def _others(inputs: StateInputs, stack: ExitStack, seed: int, codes: Sequence[Code]) -> _Others | None:
    """Contents that the original copes with; None where there are none."""
    changes: tuple[Change, ...] = ("drawn", "permuted") if inputs.buffers else ()
    for change in changes:
        try:
            fresh = stack.enter_context(inputs.made(change, seed))
        except CANDIDATE_FAILS:
            continue
        if not fresh.fault:
            replayer = restoring_writes_of(fresh.examined.trial.replayer, codes)
            return _Others(fresh.contents, fresh.examined, replayer)
    return None


def _check(answer: Answer, options: Options) -> None:
    """Refuse times that are not all there, or that come from other launches than planned."""
    times = [answer.samples_ns.get(code.label, ()) for code in options.codes]
    if any(len(one) != options.iterations or min(one) <= 0 for one in times):
        raise KernelFailedError("the runner gave no usable times")
    if answer.order[-1] != NEW:
        raise KernelFailedError("the runner launched in another order than planned")


def _totals(states: Sequence[_Process], label: str) -> list[float]:
    """The times of one launch on every state together."""
    series = (process.samples_ns[label] for process in states)
    return [sum(launch) for launch in zip(*series, strict=True)]
