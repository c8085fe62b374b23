"""The causes that follow from a table of units: waste inside a full unit, a unit full of useful work, a GPU that is not
filled, waves that wait.

A unit is the limit from 80 % of the time, and likely from 60 %. Waste inside a full unit explains it before useful work
does. Where no unit is full, waits and the number of waves explain the time.
"""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.analysis.limits.judging import BEYOND, FULL, Found, is_short, says_busiest
from rocm_perf.analysis.limits.roofs import full_units
from rocm_perf.analysis.limits.table import Table
from rocm_perf.analysis.limits.waiting import PARALLELISM, waits
from rocm_perf.analysis.limits.waste import WASTE
from rocm_perf.units import format_ns, format_share

_START_NS = 3_000  # what starting and ending a dispatch takes


def causes(table: Table) -> list[Found]:
    """Return the causes of one kernel, the one that explains most of its time first."""
    wasted = [found for rule in WASTE if (found := rule(table)) is not None]
    explained = {unit for found in wasted for unit in found.explains}
    useful = [*full_units(table, explained)]
    sparse = [found for rule in PARALLELISM if (found := rule(table)) is not None]
    waiting = [] if table.most >= FULL else [*waits(table, explained)]
    told = [*wasted, *useful, *sparse, *waiting]
    if (short := _short(table)) is not None:
        told = [short, *(replace(_of_rest(one, 1 - short.share), certainty="hint") for one in told)]
    if (first := _first_touch(table)) is not None:
        told = [first, *(_of_rest(one, 1 - first.share) for one in told)]
    return _ordered(told)


def _of_rest(found: Found, rest: float) -> Found:
    """Return a cause that holds for a part of the kernel's time only."""
    return replace(found, share=found.share * rest, saves=None if found.saves is None else found.saves * rest)


def _ordered(found: list[Found]) -> list[Found]:
    """Return causes in their order, each once."""
    by_id: dict[str, Found] = {}
    for one in sorted(found, key=lambda one: -one.weight):
        by_id.setdefault(one.id, one)
    return list(by_id.values())


def _first_touch(table: Table) -> Found | None:
    """Find a first dispatch that took many times as long as the others."""
    times, share = table.value("first_dispatch"), table.value("first_share")
    if times is None or share is None or share < 0.1:
        return None
    misses = table.value("first_translation_misses")
    evidence = [
        f"that one dispatch is {format_share(share)} of the kernel's time; the other causes are those of the others"
    ]
    if misses is not None and misses >= 2:
        evidence.append(
            f"it misses {misses:.0f} times as many address translations: memory is touched for the first time"
        )
    return Found(
        "first-call-slow",
        share,
        share,
        "proven" if misses is not None and misses >= 2 else "likely",
        f"its first dispatch takes {times:,.0f} times as long as the others",
        tuple(evidence),
    )


def _short(table: Table) -> Found | None:
    """Find dispatches that end before any unit can be full."""
    if not is_short(table) or table.mean_ns is None:
        return None
    beyond = table.share("active_beyond", 1.0)
    share = max(1 - 1 / beyond if beyond > 1 else 0.0, min(1.0, _START_NS / table.mean_ns))
    evidence = ["shares of so short a time say little: counts of instructions and bytes hold, rates do not"]
    if beyond > BEYOND:
        evidence.insert(0, f"the GPU was active for {format_share(beyond - 1)} longer than that")
    return Found(
        "short-launch",
        share,
        None,
        "likely",
        f"a dispatch takes {format_ns(table.mean_ns)}: starting and ending it is much of that",
        (*evidence, *says_busiest(table)),
    )
