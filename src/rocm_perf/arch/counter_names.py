"""What a counter's name means on a chip: it exists, it has another name there, it exists elsewhere, or nowhere.

Nothing is corrected in silence: a name in the wrong case is a suggestion like any other.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from rocm_perf.arch import counter_table
from rocm_perf.arch.counters import chip, counters, definitions, written
from rocm_perf.once import once

_REST = "{}"
_LONGEST = 100  # no counter's name comes near; longer names are not compared


class Alias(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name that users write, and what it means on some chips."""

    name: str
    on: tuple[str, ...]
    means: tuple[str, ...]
    why: str

    def meaning(self, name: str, gfx: str) -> tuple[str, ...]:
        """The names and wildcards that `name` means on a chip; empty if this alias does not apply."""
        start, rest, _ = self.name.partition(_REST)
        fits = name.startswith(start) if rest else name == start
        if not fits or not any(fnmatchcase(gfx, pattern) for pattern in self.on):
            return ()
        return tuple(pattern.replace(_REST, name[len(start) :]) for pattern in self.means)


class _Aliases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    alias: tuple[Alias, ...]


Standing = Literal["exists", "alias", "absent", "unknown"]


class Resolved(msgspec.Struct, frozen=True):
    """What a name means on a chip. `means` are the counters to ask for; empty if it is absent or unknown."""

    asked: str
    gfx: str
    standing: Standing
    means: tuple[str, ...] = ()
    why: str = ""
    elsewhere: tuple[str, ...] = ()  # chips that have it
    nearest: tuple[str, ...] = ()  # names that look like it

    def describe(self) -> str:
        """One line for the user; empty if the name exists."""
        asked = self.asked[:_LONGEST]
        match self.standing:
            case "exists":
                return ""
            case "alias":
                return f"{asked} on {self.gfx} is {' and '.join(self.means)}: {self.why}"
            case "absent":
                return f"{asked} does not exist on {self.gfx}: {self.why}"
            case "unknown":
                hint = f"; similar names: {', '.join(self.nearest)}" if self.nearest else ""
                return f"{asked} is not a counter of any chip{hint}"


@once
def aliases() -> tuple[Alias, ...]:
    """Every alias of aliases.toml."""
    return counter_table.toml("aliases.toml", _Aliases).alias


def resolve(name: str, gfx: str, rocm: str | None = None) -> Resolved:
    """What a name means on a chip in a release; by default the newest one known."""
    gfx = chip(gfx)
    if name in counters(gfx, rocm):
        return Resolved(asked=name, gfx=gfx, standing="exists", means=(name,))
    return (
        _renamed(name, gfx, rocm)
        or _plainer(name, gfx, rocm)
        or _elsewhere(name, gfx, rocm)
        or Resolved(name, gfx, "unknown", nearest=nearest(name, gfx, rocm))
    )


def matching(pattern: str, gfx: str, rocm: str | None = None) -> tuple[str, ...]:
    """The counters of a chip that match a wildcard."""
    return tuple(sorted(name for name in counters(gfx, rocm) if fnmatchcase(name, pattern)))


def nearest(name: str, gfx: str, rocm: str | None = None) -> tuple[str, ...]:
    """Counters of the chip with similar names, the most similar first."""
    if len(name) > _LONGEST:
        return ()
    by_case: dict[str, list[str]] = {}
    for known in counters(gfx, rocm):
        by_case.setdefault(known.lower(), []).append(known)
    alike = difflib.get_close_matches(name.lower(), by_case, n=3, cutoff=0.7)
    return tuple(known for lowered in alike for known in by_case[lowered])


def _renamed(name: str, gfx: str, rocm: str | None) -> Resolved | None:
    for alias in aliases():
        matches = [matching(pattern, gfx, rocm) for pattern in alias.meaning(name, gfx)]
        if matches and all(matches):
            means = tuple(dict.fromkeys(counter for group in matches for counter in group))
            return Resolved(asked=name, gfx=gfx, standing="alias", means=means, why=alias.why)
    return None


def _plainer(name: str, gfx: str, rocm: str | None) -> Resolved | None:
    """NAME for NAME_sum and NAME[3], where the chip only has NAME."""
    parts = written(name)
    if parts.base not in counters(gfx, rocm) or parts.reduction not in (None, "sum"):
        return None
    why = "rocprofv3 itself adds up the instances of a counter"
    if parts.instance is not None:
        why = "rocprofv3 records the instances of a counter together"
    return Resolved(asked=name, gfx=gfx, standing="alias", means=(parts.base,), why=why)


def _elsewhere(name: str, gfx: str, rocm: str | None) -> Resolved | None:
    chips = sorted(set(_chips_with(name)), key=lambda gfx: (len(gfx), gfx))
    if not chips:
        return None
    none = no_counters(gfx, rocm)
    why = none or f"it does on {', '.join(chips)}"
    if not none and (newer := counters(gfx).get(name)):
        why = f"it does in ROCm {newer.releases[0]}, not in {definitions(gfx, rocm).rocm}"
    return Resolved(name, gfx, "absent", why=why, elsewhere=tuple(chips))


def no_counters(gfx: str, rocm: str | None) -> str:
    """Why a chip has no counters at all; empty if it has some."""
    known = definitions(gfx, rocm)
    return "" if known.counters else known.note


def _chips_with(name: str) -> Iterator[str]:
    for row in counter_table.rows():
        if row.counter == name:
            yield from row.gfx - counter_table.releases().families.keys()
