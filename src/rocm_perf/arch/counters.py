"""The counters of each chip in each ROCm release, from packaged tables: neither a GPU nor ROCm is needed.

The cost of a counter in a pass is the hardware counters that it needs. An accumulation takes a slot of its own beside
the level it accumulates, and is listed among them by its text, such as `accumulate(SQ_LEVEL_WAVES,HIGH_RES)`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from types import MappingProxyType

import msgspec

from rocm_perf.arch import catalog, counter_table
from rocm_perf.arch.counter_table import Block, Row
from rocm_perf.arch.expression import Expression, inline, parse
from rocm_perf.arch.expression_tree import Accumulate, walk
from rocm_perf.errors import UsageError

ASK_THE_MACHINE = "ask the machine itself with rocprofv3-avail list --pmc"
_WRITTEN = re.compile(
    r"(?P<base>\w+?)(?:_(?P<reduction>sum|max|min|avr))?(?:\[(?P<instance>\d{1,6})\])?", re.ASCII
)
_ACCUMULATION = re.compile(r"accumulate\((\w+),\w+\)", re.ASCII)


class Counter(msgspec.Struct, frozen=True):
    """Something that one chip can count: in a block of the hardware, or by an expression over other counters."""

    name: str
    block: str | None
    description: str
    expression: Expression | None
    releases: tuple[str, ...]  # the known ones that define it like this, oldest first

    @property
    def derived(self) -> bool:
        """Whether it is computed from other counters."""
        return self.expression is not None


class Definitions(msgspec.Struct, frozen=True):
    """The counters of a chip, the release that defines them, and what is uncertain about that."""

    gfx: str
    rocm: str
    counters: Mapping[str, Counter]
    note: str = ""


class WrittenName(msgspec.Struct, frozen=True):
    """A counter as users write it: NAME, NAME_sum, NAME[3]."""

    base: str
    reduction: str | None
    instance: int | None


def counters(gfx: str, rocm: str | None = None) -> Mapping[str, Counter]:
    """The counters of a chip, by name: those of the newest known release, or of the last one up to `rocm`."""
    return definitions(gfx, rocm).counters


def definitions(gfx: str, rocm: str | None = None) -> Definitions:
    """The counters of a chip with the release that defines them, and a note if it does not name the chip itself."""
    return _definitions(chip(gfx), rocm)


@cache
def _definitions(gfx: str, rocm: str | None) -> Definitions:
    key, note = _key(gfx, rocm)
    release = _release(gfx, rocm)
    later = counter_table.releases().later.get(gfx)
    lacking = later.lacks if later else ()
    rows = [
        row
        for row in counter_table.rows()
        if release in row.rocm
        and key in row.gfx
        and not any(fnmatchcase(row.counter, pattern) for pattern in lacking)
    ]
    return Definitions(
        gfx=gfx,
        rocm=release,
        counters=MappingProxyType({row.counter: _counter(row) for row in rows}),
        note=note,
    )


def blocks(gfx: str, rocm: str | None = None) -> Mapping[str, int]:
    """How many counters of each block fit in one pass."""
    names = {counter.block for counter in counters(gfx, rocm).values() if counter.block}
    return {name: block(name).slots for name in sorted(names)}


def block(name: str) -> Block:
    """What is known about a block; if no source names it, few slots are assumed and it is marked so."""
    known = counter_table.blocks()
    return known.block.get(name) or Block(known.assumed_slots, "", assumed=True)


def block_of(gfx: str, name: str, rocm: str | None = None) -> str:
    """The block in which a hardware counter, as `hardware_counters` names it, takes a slot."""
    accumulated = _ACCUMULATION.fullmatch(name)
    counter = counters(gfx, rocm).get(accumulated.group(1) if accumulated else name)
    if counter is None or counter.block is None:
        raise UsageError(f"{name} is not a hardware counter of {gfx}")
    return counter.block


def hardware_counters(gfx: str, name: str, rocm: str | None = None) -> frozenset[str]:
    """What the hardware has to count for a counter, however it is written; constants of the GPU cost nothing."""
    known = counters(gfx, rocm)
    counter = known.get(name) or known.get(written(name).base)
    if counter is None:
        raise UsageError(
            f"{gfx} has no counter {name}", next_step=f"rocm-perf list-counters --arch {gfx} lists them all."
        )
    if counter.expression is None:
        return frozenset((counter.name,))
    return _cost(expanded(counter.expression, gfx, rocm), known)


def expanded(expression: Expression, gfx: str, rocm: str | None = None) -> Expression:
    """The expression written out down to the hardware counters and constants of a chip."""
    derived = {
        name: counter.expression for name, counter in counters(gfx, rocm).items() if counter.expression
    }
    return inline(expression, derived)


def written(name: str) -> WrittenName:
    """The parts of a counter's name; text that is not a name is its own base."""
    match = _WRITTEN.fullmatch(name)
    if match is None:
        return WrittenName(name, None, None)
    instance = match["instance"]
    return WrittenName(match["base"], match["reduction"], int(instance) if instance else None)


def known_chips() -> tuple[str, ...]:
    """Every chip and family that can be asked for."""
    known = counter_table.releases()
    unnamed = {gfx for members in known.families.values() for gfx in members}
    return tuple(sorted(counter_table.chips() | unnamed | known.later.keys(), key=_natural))


def chip(gfx: str) -> str:
    """The chip without the features that recordings add (gfx942:sramecc+); raises if it is unknown."""
    name = gfx.partition(":")[0].strip().lower()
    known = known_chips()
    if name not in known:
        if products := catalog.gpus_named(gfx):
            chips = dict.fromkeys(product.gfx for product in products)
            raise UsageError(
                f"{gfx[:40]!r} is a product, and counters are those of its chip",
                next_step=f"Did you mean {' or '.join(chips)} ({products[0].name})?",
            )
        near = difflib.get_close_matches(name[:40], known, n=1)
        raise UsageError(
            f"no counters are known for {gfx[:40]!r}",
            f"the nearest name is {near[0]}" if near else "",
            f"Known: {', '.join(known)}.",
        )
    return name


def _key(gfx: str, rocm: str | None) -> tuple[str, str]:
    """The name that the definitions use for a chip, and what to say about it."""
    known = counter_table.releases()
    if later := known.later.get(gfx):
        named = [release.rocm for release in known.release if release.gfx == counter_table.EVERY_CHIP]
        none = f"{gfx} has none in ROCm {named[0]} to {named[-1]}; {later.since} brings them"
        if rocm is not None and _version(rocm) < _version(later.since):
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
    covering = [release.rocm for release in counter_table.releases().release if release.covers(gfx)]
    if rocm is None:
        return covering[-1]
    before = [known for known in covering if _version(known) <= _version(rocm)]
    return before[-1] if before else covering[0]


def _version(rocm: str) -> tuple[int, ...]:
    try:
        return counter_table.version(rocm)
    except ValueError as error:
        raise UsageError(f"{rocm!r} is not a ROCm release", next_step="Write it as 7.0 or 7.2.4.") from error


def _counter(row: Row) -> Counter:
    return Counter(
        name=row.counter,
        block=row.block or None,
        description=counter_table.descriptions().get(row.counter, ""),
        expression=_parsed(row.expression) if row.expression else None,
        releases=tuple(sorted(row.rocm, key=counter_table.version)),
    )


_parsed = cache(parse)


def _cost(expression: Expression, known: Mapping[str, Counter]) -> frozenset[str]:
    accumulations = {str(part) for part in walk(expression) if isinstance(part, Accumulate)}
    return frozenset(expression.names & known.keys() | accumulations)


def _natural(gfx: str) -> tuple[int, str]:
    """A key that sorts gfx942 before gfx1030: older names are shorter."""
    return len(gfx), gfx
