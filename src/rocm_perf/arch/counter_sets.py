"""The sets of counters that users know by name, and what each becomes on a chip."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import msgspec

from rocm_perf.arch import counter_table
from rocm_perf.arch.counter_names import Resolved, matching, no_counters, resolve
from rocm_perf.arch.counters import chip
from rocm_perf.errors import UsageError


class CounterSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set as its file has it."""

    title: str
    counters: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SetOn:
    """A set on one chip: what exists there, what stands in for a name, and what had to go."""

    name: str
    gfx: str
    present: tuple[str, ...]
    replaced: tuple[Resolved, ...]
    dropped: tuple[Resolved, ...]

    @property
    def counters(self) -> tuple[str, ...]:
        """What to ask for, each once."""
        stand_ins = (counter for found in self.replaced for counter in found.means)
        return tuple(dict.fromkeys((*self.present, *stand_ins)))


@cache
def counter_sets() -> Mapping[str, CounterSet]:
    """Every set by its name."""
    return counter_table.toml("sets.toml", dict[str, CounterSet])


def counter_set(name: str) -> tuple[str, ...]:
    """The counters of a set as users write them, wildcards and all."""
    known = counter_sets().get(name)
    if known is None:
        near = difflib.get_close_matches(name[:40], counter_sets(), n=1)
        hint = f"the nearest name is {near[0]}" if near else ""
        raise UsageError(
            f"there is no set of counters {name[:40]!r}", hint, f"Known: {', '.join(counter_sets())}."
        )
    inherited = (counter for included in known.includes for counter in counter_set(included))
    return tuple(dict.fromkeys((*inherited, *known.counters)))


def resolve_set(name: str, gfx: str, rocm: str | None = None) -> SetOn:
    """The set on a chip; wildcards become what the chip has."""
    gfx = chip(gfx)
    present: list[str] = []
    replaced: list[Resolved] = []
    dropped: list[Resolved] = []
    for asked in counter_set(name):
        found = _resolve(asked, gfx, rocm)
        if found.standing == "exists":
            present += found.means
        else:
            (replaced if found.means else dropped).append(found)
    return SetOn(name, gfx, tuple(dict.fromkeys(present)), tuple(replaced), tuple(dropped))


def _resolve(asked: str, gfx: str, rocm: str | None) -> Resolved:
    if found := matching(asked, gfx, rocm):
        return Resolved(asked, gfx, "exists", found)
    found_otherwise = resolve(asked, gfx, rocm)
    if "*" in asked and not found_otherwise.means:
        why = no_counters(gfx, rocm) or "no counter of this chip fits"
        return Resolved(asked, gfx, "absent", why=why)
    return found_otherwise
