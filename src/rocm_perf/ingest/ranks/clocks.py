"""Which clocks can be brought together, how well, and why not."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.ingest.ranks.ends import Ends, ends_of
from rocm_perf.ingest.ranks.solving import FEWEST, Solution, seen_from, solve
from rocm_perf.model.clock_shift import UNMOVED, ClockShift
from rocm_perf.units import format_ns

MOST_ERROR_NS = 100_000  # beyond this, a rank that came late cannot be told from a clock that differs
_MOST_DRIFT_PPM = 500.0  # crystals are good to 100
_PPM = 1e6
_MOST_TRIES = 3


class NodeClock(msgspec.Struct, frozen=True):
    """How the clock of one node relates to that of its domain, and the collectives that say so."""

    domain: int
    shift: ClockShift = UNMOVED
    turns: tuple[int, ...] = ()
    reason: str | None = None


def node_clocks(collectives: pl.DataFrame, order: Mapping[int, int]) -> dict[int, NodeClock]:
    """The clock of every node, given all numbered collectives. The first node in `order` that took part in some keeps
    its times; the others follow it."""
    ends = ends_of(collectives)
    rest = sorted(range(len(ends.nodes)), key=lambda row: order[ends.nodes[row]])
    clocks: dict[int, NodeClock] = {}
    domain = 0
    while rest:
        solution = _solution(ends, rest)
        clocks |= {ends.nodes[row]: _clock(ends, row, solution, domain) for row in solution.fits}
        rest = [row for row in rest if row not in solution.fits]
        domain += 1
    clocks |= {node: NodeClock(domain, reason=_NOT_ENOUGH) for node in order if node not in clocks}
    return _own_domains(clocks, order)


_NOT_ENOUGH = f"it shares fewer than {FEWEST} collectives with the others"


def _solution(ends: Ends, order: list[int]) -> Solution:
    """The clocks of all nodes that the first one leads to, on the clock of the first that agrees with the others. If
    most do not, the first may be the odd one, and another is tried."""
    solutions = []
    for start in order[:_MOST_TRIES]:
        solution = solve(ends, start)
        good = [row for row in order if row in solution.fits and not _refusal(ends, row, solution)]
        solutions.append(seen_from(good[0], ends, solution.fits) if good else solution)
        if 2 * len(good) > len(solution.fits):
            return solutions[-1]
    return solutions[0]


def _clock(ends: Ends, row: int, solution: Solution, domain: int) -> NodeClock:
    """The clock of a node, or the reason why its fit is not good enough."""
    why = _refusal(ends, row, solution)
    if why and row != solution.reference:
        return NodeClock(domain, reason=why)
    fit = solution.fits[row]
    used = fit.used if len(ends.nodes) > 1 else ends.shortest(fit.used)
    return NodeClock(
        domain=domain,
        shift=_shift(ends, row, solution),
        turns=tuple(int(turn) for turn in ends.turns[used]),
        reason=_NOT_ENOUGH if domain else None,
    )


def _shift(ends: Ends, row: int, solution: Solution) -> ClockShift:
    if row == solution.reference:
        return UNMOVED
    line = solution.fits[row].line
    between = ends.origins_ns[solution.reference] - ends.origins_ns[row]
    return ClockShift(
        offset_ns=between + round(line.at_zero),  # integers: dates do not fit a float
        drift_ppm=_PPM * line.slope,
        origin_ns=ends.origins_ns[row],
    )


def _refusal(ends: Ends, row: int, solution: Solution) -> str | None:
    """Why the fit of a node is not good enough."""
    error, drift = solution.error_ns(ends, row), _PPM * solution.fits[row].line.slope
    if error > MOST_ERROR_NS:
        limit = f"at most {format_ns(MOST_ERROR_NS)} is accepted"
        return f"the ends of its collectives still differ by {format_ns(error)} from those of the others; {limit}"
    if abs(drift) > _MOST_DRIFT_PPM:
        return f"its clock would have to drift by {drift:.0f} ppm, more than any clock: it may have been set meanwhile"
    return None


def _own_domains(clocks: Mapping[int, NodeClock], order: Mapping[int, int]) -> dict[int, NodeClock]:
    """The clocks with domains from 0 on; one that was refused has a domain of its own."""
    numbers: dict[object, int] = {}
    placed = {}
    for node in sorted(clocks, key=lambda node: order[node]):
        clock = clocks[node]
        key = node if clock.reason and not clock.turns else ("shared", clock.domain)
        placed[node] = replace(clock, domain=numbers.setdefault(key, len(numbers)))
    return placed
