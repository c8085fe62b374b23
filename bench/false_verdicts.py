"""How often the same thing on both sides is called different, and how often an interval holds the truth, simulated on
populations with known answers: the tables of docs/measuring.md and docs/comparing.md.

    python bench/false_verdicts.py --trials 10000
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.unit.statistics.populations import EVEN_MODES, FLAT, NESTED, SHAPES, SKEWED, Population, with_drift

from rocm_perf.bench.ab_result import paired_difference
from rocm_perf.statistics import LEVEL, Verdict, difference, interval, one_more

SIDES = ((1, 5), (2, 2), (2, 5), (2, 8), (3, 3), (3, 4), (3, 5), (4, 4), (5, 5), (5, 10), (10, 10))
TIMES_OF = (2, 3, 4, 5, 6, 10)  # processes of one target
PAIRS = (2, 3, 4, 5, 6, 10)
EARLIER = (3, 5, 10, 20)  # sessions before the one that is judged
SAMPLES = (1, 5, 25)
NAMES = [population.name for population in SHAPES]
EQUAL = (3, 4, 5, 10)
KERNELS = (10, 100)
DRIFT = 0.05
_NONE: Verdict = "no difference shown"

Draw = Callable[[random.Random], Verdict]


def rate(draw: Draw, trials: int, *wrong: Verdict) -> str:
    """The share of trials that end in one of these verdicts, in percent."""
    source = random.Random(37)
    counted = sum(draw(source) in (wrong or ("better", "worse")) for _ in range(trials))
    return f"{100 * counted / trials:.1f}"


def false_verdicts(population: Population, base: int, new: int, trials: int) -> str:
    """Of two sides of one population; a dash where no verdict is ever given."""
    source = random.Random(1)
    first = difference(population.processes(source, base), population.processes(source, new))
    if first.interval is None:
        return "-"
    return rate(
        lambda source: (
            difference(population.processes(source, base), population.processes(source, new)).verdict
        ),
        trials,
    )


def held(population: Population, count: int, trials: int) -> str:
    """How often the interval of a time holds that of the median process, in percent."""
    source, truth, inside = random.Random(37), population.truth(), 0
    for _ in range(trials):
        bounds = interval(population.processes(source, count))
        inside += bounds is not None and bounds.low <= truth <= bounds.high
    return f"{100 * inside / trials:.1f}"


def paired(population: Population, pairs: int, trials: int) -> str:
    def verdict(source: random.Random) -> Verdict:
        base, new = (population.processes(source, pairs) for _ in range(2))
        return paired_difference(base, new).verdict

    return rate(verdict, trials)


def later_session(population: Population, earlier: int, trials: int) -> str:
    """How often one more session of the same thing is called slower, as `--rocm-perf-compare` judges it."""

    def verdict(source: random.Random) -> Verdict:
        medians = [median(one) for one in population.processes(source, earlier + 1)]
        return one_more(medians[1:], medians[0], 0.99).verdict

    return rate(verdict, trials, "worse")


def of_many(population: Population, runs: int, kernels: int, trials: int) -> str:
    """How often at least one of many kernels that did not change is called different, with Bonferroni's level."""
    level = 1 - (1 - LEVEL) / kernels

    def verdict(source: random.Random) -> Verdict:
        for _ in range(kernels):
            sides = ([[median(one)] for one in population.processes(source, runs)] for _ in range(2))
            if (found := difference(*sides, level=level).verdict) != _NONE:
                return found
        return _NONE

    return rate(verdict, trials)


def drifting(count: int, trials: int, *, alternating: bool) -> str:
    return rate(
        lambda source: difference(*with_drift(NESTED, source, count, DRIFT, alternating=alternating)).verdict,
        trials,
    )


def table(title: str, heads: Sequence[object], rows: Sequence[Sequence[object]]) -> None:
    """Print a table of Markdown."""
    print(f"\n{title}\n")
    for row in (heads, ["---", *["---:"] * (len(heads) - 1)], *rows):
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def _sides(trials: int) -> None:
    table(
        "The same thing on both sides, called different (%)",
        ["processes", *NAMES],
        [[f"{b} / {n}", *(false_verdicts(one, b, n, trials) for one in SHAPES)] for b, n in SIDES],
    )


def _alone(trials: int) -> None:
    rates = [false_verdicts(one, 1, 1, max(trials // 50, 1)) for one in SHAPES]
    table("One process a side, called different (%)", ["processes", *NAMES], [["1 / 1", *rates]])


def _times(trials: int) -> None:
    table(
        "The interval of a time holds the median process (%)",
        ["processes", *NAMES],
        [[count, *(held(one, count, trials) for one in SHAPES)] for count in TIMES_OF],
    )


def _pairs(trials: int) -> None:
    table(
        "Pairs of the same thing, called different (%)",
        ["pairs", *NAMES],
        [[count, *(paired(one, count, trials) for one in SHAPES)] for count in PAIRS],
    )


def _sessions(trials: int) -> None:
    table(
        "One more session of the same thing, called slower (%)",
        ["sessions before", *NAMES],
        [[count, *(later_session(one, count, trials) for one in SHAPES)] for count in EARLIER],
    )


def _samples(trials: int) -> None:
    noisy = [replace(NESTED, samples=count, scatter=0.05) for count in SAMPLES]
    table(
        "Samples that scatter by 5 % within processes that differ by 1 %, called different (%)",
        ["samples of a process", *(f"{count} / {count}" for count in EQUAL)],
        [[one.samples, *(false_verdicts(one, n, n, trials) for n in EQUAL)] for one in noisy],
    )


def _drift(trials: int) -> None:
    table(
        f"A machine that slows down by {DRIFT:.0%}, called different (%)",
        ["order", *(f"{count} / {count}" for count in EQUAL)],
        [
            [name, *(drifting(count, trials, alternating=turns) for count in EQUAL)]
            for name, turns in (("A B B A", True), ("A A B B", False))
        ],
    )


def _kernels(trials: int) -> None:
    shapes = NESTED, SKEWED, EVEN_MODES, FLAT
    table(
        "At least one of many kernels called different (%)",
        ["runs, kernels", *(one.name for one in shapes)],
        [
            [f"{n} / {n}, {many}", *(of_many(one, n, many, max(trials // 20, 1)) for one in shapes)]
            for n in EQUAL
            for many in KERNELS
        ],
    )


TABLES = {
    "sides": _sides,
    "alone": _alone,
    "times": _times,
    "pairs": _pairs,
    "sessions": _sessions,
    "samples": _samples,
    "drift": _drift,
    "kernels": _kernels,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=5_000)
    parser.add_argument("--only", choices=TABLES, nargs="+", default=[*TABLES])
    args = parser.parse_args()
    for name in args.only:
        TABLES[name](args.trials)


if __name__ == "__main__":
    main()
