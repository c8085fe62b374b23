"""The counters of each chip in each ROCm release, from carried tables: no GPU and no ROCm are asked.

What a counter costs in a pass is told in hardware counters. An accumulation takes a slot of its own beside the level
it accumulates, and stands among them under its text, such as `accumulate(SQ_LEVEL_WAVES,HIGH_RES)`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from rocm_perf.arch import counter_table
from rocm_perf.arch.counter_table import Block, Row
from rocm_perf.arch.expression import Expression, inline, parse
from rocm_perf.arch.expression_tree import Accumulate, walk
from rocm_perf.errors import UsageError

ASK_THE_MACHINE = "ask the machine itself with rocprofv3-avail list --pmc"
_WRITTEN = re.compile(
    r"(?P<base>\w+?)(?:_(?P<reduction>sum|max|min|avr))?(?:\[(?P<instance>\d{1,6})\])?", re.ASCII
)
_ACCUMULATION = re.compile(r"accumulate\((\w+),\w+\)", re.ASCII)


@dataclass(frozen=True)
class Counter:
    """What one chip can count: in a block of the hardware, or by an expression over other counters."""

    name: str
    block: str | None
    description: str
    expression: Expression | None
    releases: tuple[str, ...]  # of those known here, the ones that define it like this, oldest first

    @property
    def derived(self) -> bool:
        return self.expression is not None


@dataclass(frozen=True)
class Definitions:
    """The counters of a chip, the release that defines them, and what is uncertain about that."""

    gfx: str
    rocm: str
    counters: Mapping[str, Counter]
    note: str = ""


@dataclass(frozen=True)
class WrittenName:
    """A counter as users write it: NAME, NAME_sum, NAME[3]."""

    base: str
    reduction: str | None
    instance: int | None


def counters(gfx: str, rocm: str | None = None) -> Mapping[str, Counter]:
    """The counters of a chip by name; of the newest release known, or of the last one up to `rocm`."""
    return definitions(gfx, rocm).counters


def definitions(gfx: str, rocm: str | None = None) -> Definitions:
    """The same with the release used, and a note where the chip itself is not named there."""
    return _definitions(chip(gfx), rocm)


@cache
def _definitions(gfx: str, rocm: str | None) -> Definitions:
    key, note = _key(gfx, rocm)
    release = _release(gfx, rocm)
    rows = [row for row in counter_table.rows() if release in row.rocm and key in row.gfx]
    return Definitions(gfx, release, MappingProxyType({row.counter: _counter(row) for row in rows}), note)


def blocks(gfx: str, rocm: str | None = None) -> Mapping[str, int]:
    """How many counters of each block one pass holds."""
    found = {counter.block for counter in counters(gfx, rocm).values() if counter.block}
    return {name: block(name).slots for name in sorted(found)}


def block(name: str) -> Block:
    """What is known of a block; few slots, and marked so, where no source names it."""
    known = counter_table.blocks()
    return known.block.get(name) or Block(known.assumed_slots, "", assumed=True)


def block_of(gfx: str, name: str, rocm: str | None = None) -> str:
    """The block in which a hardware counter, as `hardware_counters` names it, takes a slot."""
    accumulated = _ACCUMULATION.fullmatch(name)
    found = counters(gfx, rocm).get(accumulated.group(1) if accumulated else name)
    if found is None or found.block is None:
        raise UsageError(f"{name} is no hardware counter of {gfx}")
    return found.block


def hardware_counters(gfx: str, name: str, rocm: str | None = None) -> frozenset[str]:
    """What has to be counted for a counter, written in any way; constants of the GPU cost nothing."""
    known = counters(gfx, rocm)
    found = known.get(name) or known.get(written(name).base)
    if found is None:
        raise UsageError(
            f"{gfx} has no counter {name}", next_step=f"rocm-perf list-counters --arch {gfx} names all."
        )
    if found.expression is None:
        return frozenset((found.name,))
    return _cost(expanded(found.expression, gfx, rocm), known)


def expanded(expression: Expression, gfx: str, rocm: str | None = None) -> Expression:
    """An expression over the hardware counters and constants of a chip."""
    derived = {
        name: counter.expression for name, counter in counters(gfx, rocm).items() if counter.expression
    }
    return inline(expression, derived)


def written(name: str) -> WrittenName:
    """The parts of a counter's name; what is no name at all is its own base."""
    found = _WRITTEN.fullmatch(name)
    if found is None:
        return WrittenName(name, None, None)
    instance = found["instance"]
    return WrittenName(found["base"], found["reduction"], int(instance) if instance else None)


def known_chips() -> tuple[str, ...]:
    """Every chip and family that can be asked for."""
    known = counter_table.releases()
    unnamed = {gfx for members in known.families.values() for gfx in members}
    return tuple(sorted(counter_table.chips() | unnamed | known.later.keys(), key=_natural))


def chip(gfx: str) -> str:
    """The chip without the features that recordings add (gfx942:sramecc+); refused where it is not known."""
    name = gfx.partition(":")[0].strip().lower()
    known = known_chips()
    if name not in known:
        near = difflib.get_close_matches(name[:40], known, n=1)
        raise UsageError(
            f"no counters are known for {gfx[:40]!r}",
            f"the nearest name is {near[0]}" if near else "",
            f"Known: {', '.join(known)}.",
        )
    return name


def _key(gfx: str, rocm: str | None) -> tuple[str, str]:
    """The name under which the definitions hold a chip, and what to say about it."""
    known = counter_table.releases()
    if later := known.later.get(gfx):
        named = [release.rocm for release in known.release if release.gfx == counter_table.EVERY_CHIP]
        none = f"{gfx} has none in ROCm {named[0]} to {named[-1]}; {later.since} brings them"
        if rocm is None or _version(rocm) < _version(later.since):
            return "", f"{none}: {ASK_THE_MACHINE}"
        return later.family, f"{none}. Shown are those of {later.family}, which may differ: {ASK_THE_MACHINE}"
    for family, members in known.families.items():
        if gfx in members:
            return (
                family,
                f"{gfx} itself has none in rocprofv3; shown are those of {family}: {ASK_THE_MACHINE}",
            )
    return gfx, ""


def _release(gfx: str, rocm: str | None) -> str:
    spoken = [release.rocm for release in counter_table.releases().release if release.speaks_of(gfx)]
    if rocm is None:
        return spoken[-1]
    before = [known for known in spoken if _version(known) <= _version(rocm)]
    return before[-1] if before else spoken[0]


def _version(rocm: str) -> tuple[int, ...]:
    try:
        return counter_table.version(rocm)
    except ValueError as error:
        raise UsageError(f"{rocm!r} is no ROCm release", next_step="Write it as 7.0 or 7.2.4.") from error


def _counter(row: Row) -> Counter:
    return Counter(
        row.counter,
        row.block or None,
        counter_table.descriptions().get(row.counter, ""),
        _parsed(row.expression) if row.expression else None,
        tuple(sorted(row.rocm, key=counter_table.version)),
    )


_parsed = cache(parse)


def _cost(expression: Expression, known: Mapping[str, Counter]) -> frozenset[str]:
    accumulations = {str(part) for part in walk(expression) if isinstance(part, Accumulate)}
    return frozenset(expression.names & known.keys() | accumulations)


def _natural(gfx: str) -> tuple[int, str]:
    """gfx942 before gfx1030: older names are shorter."""
    return len(gfx), gfx
