"""A against A: how often the verdict on this machine calls the same thing different, and what it could have shown.

The processes are split as a comparison would have run them, A B B A, in the order in which they ran: a machine that
drifts or alternates shows itself here, and would not in random splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rocm_perf.bench.processes import turns
from rocm_perf.statistics import Difference, difference
from rocm_perf.statistics.series import quantile

Times = Sequence[Sequence[float]]
SIDES = (3, 5, 10)
_POWER = 0.8  # share of comparisons that would have shown the difference


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """Comparisons of a target with itself."""

    processes_a_side: int
    comparisons: int  # overlapping: each starts one process later than the one before
    called_different: int
    smallest_shown: float | None  # the difference, as a share, that four in five of them would have shown


def self_tests(processes: Times) -> list[SelfTest]:
    """One self-test for each number of processes per side that there are enough of, smallest first."""
    alone = [difference([base], [new]) for base, new in pairwise(processes)]
    sides = [count for count in SIDES if 2 * count <= len(processes)]
    over = [_self_test(count, [difference(*both) for both in _splits(processes, count)]) for count in sides]
    has_alone = alone and all(one.interval is not None for one in alone)
    return [_self_test(1, alone), *over] if has_alone else over


def _splits(processes: Times, count: int) -> Iterator[tuple[Times, Times]]:
    order = list(turns(2, count))
    for start in range(len(processes) - 2 * count + 1):
        window = processes[start : start + 2 * count]
        base, new = (
            [one for one, turn in zip(window, order, strict=True) if turn == side] for side in (0, 1)
        )
        yield base, new


def _self_test(count: int, differences: Sequence[Difference]) -> SelfTest:
    needed = [max(1 / one.interval.low, one.interval.high) - 1 for one in differences if one.interval]
    return SelfTest(
        processes_a_side=count,
        comparisons=len(differences),
        called_different=sum(one.verdict != "no difference shown" for one in differences),
        smallest_shown=quantile(needed, _POWER) if needed else None,
    )
