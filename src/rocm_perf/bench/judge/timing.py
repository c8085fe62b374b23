"""Timed laps of the two functions: many calls, each on inputs of its own, first one function and then the other, in
turns. Results of timed calls are compared as well."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from rocm_perf.bench.judge.checking import Checker, Pair
from rocm_perf.bench.judge.comparison import Comparison
from rocm_perf.bench.judge.inputs import Inputs
from rocm_perf.bench.judge.lap import Lap, Side, boot_ns
from rocm_perf.bench.judge.values import Value, size_bytes
from rocm_perf.units import NS_PER_MS

_MOST_CALLS = 32  # in a lap
_MOST_BYTES = 64 << 20  # of arguments and results in a lap, on each side
_SLOTS_PER_CASE = 1000


@dataclass(frozen=True)
class SideLap:
    """A lap of one function, and what its process did before."""

    lap: Lap
    loaded_ns: int  # boot clock: when its inputs began to arrive
    early_cpu_ns: int  # CPU time from then until the clock started


@dataclass(frozen=True)
class Turn:
    """One lap of each function on the same inputs."""

    case: int
    base: SideLap
    new: SideLap
    handover_ns: int  # what a lap of BASE costs without its calls
    comparison: Comparison  # of one call that nobody knew would be looked at


def calls_per_lap(pair: Pair, arguments: Value, lap_ms: float) -> int:
    """How many calls make a lap of about `lap_ms`, judged by BASE, which has been called before."""
    pair.base.put(0, arguments)
    wall_ns = pair.base.run([0]).wall_ns
    outcome = pair.base.read(0)
    room = _MOST_BYTES // max(size_bytes(outcome.result) + size_bytes(arguments), 1)
    return max(1, min(_MOST_CALLS, room, round(lap_ms * NS_PER_MS / max(wall_ns, 1))))


def turns(pair: Pair, inputs: Inputs, checker: Checker, *, calls: list[int], count: int) -> Iterator[Turn]:
    """So many laps of each function for each case. Which of the two begins alternates, but for naive judges."""
    is_naive = not (checker.gates.own_process and checker.gates.fresh_outputs)
    for number in range(count):
        for case, case_calls in enumerate(calls):
            slots = [case * _SLOTS_PER_CASE + 1 + call for call in range(case_calls)]
            arguments = [inputs.fresh(case) for _ in slots]
            lap = _TurnInputs(case=case, slots=slots, arguments=arguments)
            yield _turn(pair, checker, lap, base_first=is_naive or number % 2 == 0)


@dataclass(frozen=True)
class _TurnInputs:
    case: int
    slots: list[int]
    arguments: list[Value]


def _turn(pair: Pair, checker: Checker, given: _TurnInputs, *, base_first: bool) -> Turn:
    slots, arguments = given.slots, given.arguments
    if base_first:
        base = _side_lap(pair.base, slots, arguments)
        if not checker.gates.fresh_outputs:
            arguments = [pair.base.read(slot).arguments for slot in slots]
        new = _side_lap(pair.new, slots, arguments)
    else:
        new = _side_lap(pair.new, slots, arguments)
        base = _side_lap(pair.base, slots, arguments)
    comparison = Comparison()
    if checker.gates.checked_laps:
        place = secrets.randbelow(len(slots))
        expected, actual = pair.base.read(slots[place]), pair.new.read(slots[place])
        comparison = checker.judged_call(arguments[place], expected, actual, (new.lap, place))
    return Turn(
        case=given.case,
        base=base,
        new=new,
        handover_ns=pair.base.handover(slots).wall_ns,
        comparison=comparison,
    )


def _side_lap(side: Side, slots: list[int], arguments: list[Value]) -> SideLap:
    loaded_ns, cpu_ns = boot_ns(), side.cpu_ns()
    for slot, values in zip(slots, arguments, strict=True):
        side.put(slot, values)
    early_cpu_ns = side.cpu_ns() - cpu_ns
    return SideLap(lap=side.run(slots), loaded_ns=loaded_ns, early_cpu_ns=early_cpu_ns)
