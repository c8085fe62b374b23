"""Processes drawn from populations whose answer is known: a process has an effect of its own, its samples scatter
around it, and now and then one is an outlier. Times are around 1 ms; effects and scatter are on their logarithm."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

Process = list[float]
SAMPLES = 15
_SCATTER = 0.01
_MANY = 20_000


@dataclass(frozen=True)
class Population:
    """A name, and what the effect of a process is drawn from."""

    name: str
    effect: Callable[[random.Random], float]
    samples: int = SAMPLES
    scatter: float = _SCATTER
    tick: float = 0.0  # of the clock, as a share of a time; 0: finer than anything

    def process(self, source: random.Random, shift: float = 0.0) -> Process:
        """The samples of one process. Other work on the machine disturbs one sample in fifty."""
        centre = self.effect(source) + shift
        times = [
            math.exp(source.gauss(centre, self.scatter) + _disturbance(source, 0.02))
            for _ in range(self.samples)
        ]
        return [self.tick * round(time / self.tick) for time in times] if self.tick else times

    def processes(self, source: random.Random, count: int, shift: float = 0.0) -> list[Process]:
        return [self.process(source, shift) for _ in range(count)]

    @lru_cache  # noqa: B019  (a handful of populations)
    def truth(self) -> float:
        """The median process's median, from very many."""
        source = random.Random(1)
        return statistics.median(statistics.median(self.process(source)) for _ in range(_MANY))


def _disturbance(source: random.Random, share: float) -> float:
    return source.expovariate(2) if source.random() < share else 0.0


def two_modes(fast: float) -> Population:
    """22.5 or 25.5 ms by process, as in a public report; `fast` is the share of fast processes."""
    slower = math.log(25.5 / 22.5)
    return Population(
        f"two modes, {fast:.0%} fast",
        lambda source: source.gauss(0.0 if source.random() < fast else slower, 0.002),
    )


NESTED = Population("nested", lambda source: source.gauss(0, 0.01))
TWO_MODES = two_modes(0.7)
DISTURBED = Population(
    "one process in ten disturbed",
    lambda source: source.gauss(0, 0.01) + _disturbance(source, 0.1),
)
QUIET = Population("processes all alike", lambda source: 0.0)
ALL = (NESTED, TWO_MODES, two_modes(0.9), DISTURBED, QUIET)

EVEN_MODES = two_modes(0.5)
SKEWED = Population("skewed (lognormal)", lambda source: math.log1p(0.1 * source.lognormvariate(0, 1)))
HEAVY_TAIL = Population(
    "heavy tail (Cauchy)", lambda source: 0.01 * math.tan(0.999 * math.pi * (source.random() - 0.5))
)
FLAT = Population("flat (uniform)", lambda source: source.uniform(0, 0.05))
BOWL = Population("most at both ends", lambda source: 0.1 * source.betavariate(0.5, 0.5))
COARSE = Population("a clock of 1 %", lambda source: source.gauss(0, 0.01), tick=0.01)
SHAPES = (NESTED, SKEWED, EVEN_MODES, two_modes(5 / 6), HEAVY_TAIL, FLAT, BOWL, COARSE, DISTURBED)


def with_drift(
    population: Population, source: random.Random, count: int, drift: float, *, alternating: bool = True
) -> tuple[list[Process], list[Process]]:
    """Two groups of one population, run as A B B A ... while the machine slows down by `drift` in all; or all of one
    group before the other."""
    groups: tuple[list[Process], list[Process]] = [], []
    for turn in range(2 * count):
        second = turn % 4 in (1, 2) if alternating else turn >= count
        groups[second].append(population.process(source, drift * turn / (2 * count - 1)))
    return groups
