"""What the rules share: a cause as a rule finds it, the thresholds, what relieving units saves, and sentences."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rocm_perf.analysis.limits.table import Table
from rocm_perf.model.results.limits import Certainty
from rocm_perf.units import format_share

WEIGHTS: Mapping[Certainty, float] = {"proven": 1.0, "likely": 0.85, "hint": 0.5}
FULL, SURE = 0.6, 0.8  # of the time: from here on a unit is likely the limit, and is the limit
NEVER = 0.35  # of the time: a unit that is busy less is no limit
ARITHMETIC = ("issue", "vector", "f32", "integer", "f64", "special")
MOVING = ("memory", "l2", "lds", "l1", "loads")
SHORT_NS = 10_000  # a shorter dispatch is short
BRIEF_NS = 50_000  # so is a shorter one for which the GPU was active for longer
BEYOND = 1.15  # cycles for each cycle of a dispatch: from here on starting and ending it counts


class Found(msgspec.Struct, frozen=True):
    """A cause that a rule found, before it has words for its remedy. `explains`: the units whose load it accounts
    for."""

    id: str
    share: float
    saves: float | None
    certainty: Certainty
    title: str
    evidence: tuple[str, ...]
    explains: tuple[str, ...] = ()

    @property
    def weight(self) -> float:
        """Return by what causes are ordered: the time that they explain, and how certain that is."""
        return self.share * WEIGHTS[self.certainty]


def certainty_of(busy: float) -> Certainty:
    return "proven" if busy >= SURE else "likely"


def fullest_of(table: Table, among: tuple[str, ...]) -> str:
    return max(among, key=table.busy)


def saved_by(table: Table, relieved: Mapping[str, float], beyond: float = 0.0) -> float:
    """Return the share of the time that is saved at most when units have only these shares of their work: another unit
    is the limit then. `beyond`: a share that stays whatever happens."""
    left = max((table.busy(unit) * relieved.get(unit, 1.0) for unit in table.units), default=0.0)
    return max(0.0, 1 - max(left, beyond))


def says_share(table: Table, unit: str) -> str:
    use = table.units[unit]
    return f"{use.title}: busy {format_share(table.busy(unit))} of the time"


def says_busy(table: Table, unit: str) -> tuple[str, ...]:
    return (says_share(table, unit),) if unit in table.units else ()


def is_or_are(title: str) -> str:
    return "are" if title.partition(" (")[0].endswith("s") else "is"


def is_busy(table: Table, unit: str) -> str:
    title = table.title(unit)
    return f"{title} {is_or_are(title)} busy {format_share(table.busy(unit))} of the time"


def wave_word(table: Table) -> str:
    return "warp" if table.nvidia else "wave"


def wave_size(table: Table) -> int:
    return 32 if table.nvidia or not table.gfx.startswith("gfx9") else 64


def local_memory(table: Table) -> str:
    return "shared memory" if table.nvidia else "LDS"


def is_short(table: Table) -> bool:
    """Return whether starting and ending a dispatch is much of its time."""
    if table.nvidia or table.mean_ns is None:
        return False
    return table.mean_ns < (BRIEF_NS if table.share("active_beyond") > BEYOND + 0.15 else SHORT_NS)


def f64_is_as_fast(table: Table) -> bool:
    """Return whether vectors of f64 run at the rate of f32 that is not packed."""
    return table.gfx == "gfx90a"


def most_but(table: Table, left_out: tuple[str, ...]) -> float:
    return max((table.busy(unit) for unit in table.units if unit not in left_out), default=0.0)


def says_busiest(table: Table) -> tuple[str, ...]:
    """Return a sentence on the fullest units."""
    ordered = sorted(table.units, key=lambda unit: -table.busy(unit))[:3]
    listed = [
        f"{table.units[unit].title} {format_share(table.busy(unit))}"
        for unit in ordered
        if table.busy(unit) >= 0.01
    ]
    return (f"fullest units: {', '.join(listed)}",) if listed else ()


_WAITS = {
    "wait_memory": "for memory",
    "wait_memory_queue": "for room in the queue to memory",
    "wait_local": "for local memory, special functions or conversions",
    "wait_local_queue": "for room in the queue to local memory and special functions",
    "wait_drain": "for stores and atomics when they end",
    "wait_pipe": "for a pipe of arithmetic",
    "wait_share": "for anything",
    "lds_wait_share": "for LDS",
}


def says_waits(table: Table, *names: str) -> tuple[str, ...]:
    """Return a sentence on what waves wait for, of these."""
    known = [(table.share(name), _WAITS[name]) for name in names if table.share(name) >= 0.1]
    if not known:
        return ()
    listed = ", ".join(f"{format_share(share)} {what}" for share, what in sorted(known, reverse=True))
    return (f"{wave_word(table)}s wait {listed}",)
