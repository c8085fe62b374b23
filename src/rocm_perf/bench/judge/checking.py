"""Whether NEW does what BASE does, call by call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocm_perf.bench.judge.comparison import Comparer, Comparison
from rocm_perf.bench.judge.gates import CLOSED, Gates
from rocm_perf.bench.judge.lap import BASE, JudgedError, Lap, Outcome, Side
from rocm_perf.bench.judge.values import Value, same_bits
from rocm_perf.bench.judge.workbench import checksum

_CHANGED = "is not as it was before the call: declare it as in-place if it may change"


@dataclass(frozen=True)
class Pair:
    """The two functions that are compared, each behind its own process."""

    base: Side
    new: Side


@dataclass(frozen=True)
class Checker:
    """What is asked of every call."""

    comparer: Comparer
    in_place: tuple[int | str, ...] = ()
    gates: Gates = CLOSED

    def check(self, pair: Pair, arguments: Value) -> Comparison:
        """Call both functions on the same arguments, BASE twice: it has to agree with itself."""
        expected = self._called(pair.base, arguments)
        again = self.compare(expected, self._called(pair.base, arguments))
        if not again.is_right:
            raise JudgedError(
                BASE,
                f"it gives another result when called again with the same inputs: {again.problems[0]}. "
                "Fix its seed, or allow a larger tolerance",
            )
        if changed := list(self._changed(arguments, expected)):
            raise JudgedError(BASE, changed[0])
        if expected.result is None and not self.in_place:
            raise JudgedError(
                BASE, "it returns nothing, and no argument is declared as in-place: nothing to compare"
            )
        given = arguments if self.gates.fresh_outputs else expected.arguments
        pair.new.put(0, given)
        lap = pair.new.run([0])
        return self.judged_call(given, expected, pair.new.read(0), (lap, 0))

    def judged_call(
        self, given: Value, expected: Outcome, actual: Outcome, call: tuple[Lap, int]
    ) -> Comparison:
        """What is wrong with one call of NEW, which is a lap's n-th."""
        problems = list(self._unsettled(actual, *call))
        if self.gates.unchanged_inputs:
            problems += self._changed(given, actual)
        return Comparison(tuple(problems)) + self.compare(expected, actual)

    def compare(self, expected: Outcome, actual: Outcome) -> Comparison:
        """Compare results, and what the calls left in in-place arguments."""
        outputs = self.comparer.compare(expected.result, actual.result)
        for name in self.in_place:
            wanted, left = (_argument(outcome.arguments, name) for outcome in (expected, actual))
            outputs += self.comparer.compare(wanted, left, f"argument {name}")
        return outputs

    def outputs(self, outcome: Outcome) -> Value:
        """What a checksum covers: the result and the in-place arguments."""
        return [outcome.result, [_argument(outcome.arguments, name) for name in self.in_place]]

    def _called(self, side: Side, arguments: Value) -> Outcome:
        side.put(0, arguments)
        side.run([0])
        return side.read(0)

    def _unsettled(self, actual: Outcome, lap: Lap, place: int) -> Iterator[str]:
        if self.gates.settled_results and checksum(self.outputs(actual), lap.nonce) != lap.checksums[place]:
            yield "the result was still changing after the call had returned: its work was not finished"

    def _changed(self, given: Value, actual: Outcome) -> Iterator[str]:
        for name in argument_names(given):
            if name in self.in_place:
                continue
            if not same_bits(_argument(given, name), _argument(actual.arguments, name)):
                yield f"argument {name} {_CHANGED}"


def argument_names(arguments: Value) -> list[int | str]:
    """The positions of arguments, or the names of keyword arguments."""
    if isinstance(arguments, dict):
        return [str(name) for name in arguments]
    assert isinstance(arguments, (list, tuple))
    return list(range(len(arguments)))


def _argument(arguments: Value, name: int | str) -> Value:
    """An argument by position or keyword; None if the judged process sent back something else."""
    if isinstance(arguments, dict):
        return arguments.get(name)
    if isinstance(arguments, (list, tuple)) and isinstance(name, int) and name < len(arguments):
        return arguments[name]
    return None
