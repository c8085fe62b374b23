"""The named sets of counters, and what each contains on a chip."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from rocm_perf.arch import counter_table
from rocm_perf.arch.counter_names import Resolved, matching, no_counters, resolve
from rocm_perf.arch.counters import chip, counters
from rocm_perf.arch.metric_data import metrics
from rocm_perf.arch.metric_recipes import recipes
from rocm_perf.arch.passes import Names, PassPlan, kept_together, plan_passes
from rocm_perf.errors import UsageError
from rocm_perf.once import once


class ChipPasses(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The passes of a set on some chips: counters, and metrics whose counters it has."""

    gfx: tuple[str, ...]
    passes: tuple[Names, ...] = ()
    first_of: str = ""  # the set whose first pass it is; instead of passes of its own


class CounterSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set as sets.toml defines it."""

    title: str
    counters: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # whose counters it has
    includes: tuple[str, ...] = ()
    chips: tuple[ChipPasses, ...] = ()  # where it says its passes, instead of all this

    def passes_on(self, gfx: str) -> tuple[Names, ...]:
        """The passes that it says for a chip, as its file writes them; empty where it says none."""
        for each in self.chips:
            if any(fnmatchcase(gfx, pattern) for pattern in each.gfx):
                return counter_sets()[each.first_of].passes_on(gfx)[:1] if each.first_of else each.passes
        return ()


class SetOn(msgspec.Struct, frozen=True):
    """A set on one chip: the counters it has, those that replace others, and those it lacks."""

    name: str
    gfx: str
    present: tuple[str, ...]
    replaced: tuple[Resolved, ...]
    dropped: tuple[Resolved, ...]
    passes: tuple[Names, ...] = ()  # counters that stay together; empty where the set leaves that open

    @property
    def counters(self) -> tuple[str, ...]:
        """The counters to ask for, each once."""
        replacements = (counter for resolved in self.replaced for counter in resolved.means)
        return tuple(dict.fromkeys((*self.present, *replacements)))


@once
def counter_sets() -> Mapping[str, CounterSet]:
    """Every set, by name."""
    return counter_table.toml("sets.toml", dict[str, CounterSet])


def set_name(name: str) -> str | None:
    """The set that a name means, also with the `.txt` of the files that wrappers ship; None if it means none."""
    plain = name.removesuffix(".txt")
    return plain if plain in counter_sets() else None


def counter_set(name: str) -> tuple[str, ...]:
    """The counters of a set as its file writes them, wildcards included."""
    known = counter_sets().get(name)
    if known is None:
        near = difflib.get_close_matches(name[:40], counter_sets(), n=1)
        hint = f"the nearest name is {near[0]}" if near else ""
        raise UsageError(
            f"there is no counter set {name[:40]!r}", hint, f"Known: {', '.join(counter_sets())}."
        )
    inherited = (counter for included in known.includes for counter in counter_set(included))
    return tuple(dict.fromkeys((*inherited, *known.counters)))


def set_metrics(name: str) -> tuple[str, ...]:
    """The metrics of a set, whatever the chip."""
    known = counter_sets()[name]
    inherited = (metric for included in known.includes for metric in set_metrics(included))
    return tuple(dict.fromkeys((*inherited, *known.metrics)))


def resolve_set(name: str, gfx: str, rocm: str | None = None) -> SetOn:
    """The set on a chip, with wildcards expanded to the counters of the chip."""
    gfx = chip(gfx)
    wanted = counter_set(name)  # which refuses a name that is none
    if own := counter_sets()[name].passes_on(gfx):
        parts = [_resolved(name, gfx, rocm, each, ()) for each in own]
        return SetOn(
            name=name,
            gfx=gfx,
            present=tuple(dict.fromkeys(counter for part in parts for counter in part.present)),
            replaced=tuple(dict.fromkeys(each for part in parts for each in part.replaced)),
            dropped=tuple(dict.fromkeys(each for part in parts for each in part.dropped)),
            passes=tuple(part.counters for part in parts if part.counters),
        )
    return _resolved(name, gfx, rocm, wanted, set_metrics(name))


def _resolved(name: str, gfx: str, rocm: str | None, wanted: Names, of_metrics: Names) -> SetOn:
    present: list[str] = []
    replaced: list[Resolved] = []
    dropped: list[Resolved] = []
    for asked in wanted:
        if asked in metrics():
            present += _counted_for(asked, gfx, rocm)
            continue
        resolved = _resolve(asked, gfx, rocm)
        if resolved.standing == "exists":
            present += resolved.means
        else:
            (replaced if resolved.means else dropped).append(resolved)
    present += (counter for metric in of_metrics for counter in _counted_for(metric, gfx, rocm))
    return SetOn(
        name=name,
        gfx=gfx,
        present=tuple(dict.fromkeys(present)),
        replaced=tuple(replaced),
        dropped=tuple(dropped),
    )


def plan_with_sets(
    names: Iterable[str], gfx: str, rocm: str | None = None
) -> tuple[PassPlan | None, tuple[str, ...]]:
    """The passes for counters, metrics and sets by name, None where the chip has none of them; and what was replaced
    or left out of the sets."""
    wanted: list[str] = []
    named: list[str] = []  # by themselves, and not in a set
    together: list[Names] = []
    rather: list[Names] = []
    notes: list[str] = []
    for name in names:
        if name not in counter_sets():
            named.append(name)
            continue
        resolved = resolve_set(name, gfx, rocm)
        wanted += resolved.counters
        notes += [each.describe() for each in (*resolved.replaced, *resolved.dropped)]
        if resolved.passes:
            together += resolved.passes
            continue
        needed = {tuple(_counted_for(metric, gfx, rocm)) for metric in set_metrics(name)}
        for group in kept_together(resolved.counters, gfx, rocm):
            (together if group in needed else rather).append(group)
    wanted += named
    if not wanted:
        return None, tuple(notes)
    together += kept_together(named, gfx, rocm)
    return plan_passes(wanted, gfx, rocm, together, rather), tuple(notes)


def _counted_for(metric: str, gfx: str, rocm: str | None) -> list[str]:
    """What the chip counts for a metric; nothing where it has no formula, or lacks its counters."""
    known = counters(gfx, rocm).keys()
    usable = (recipe for recipe in recipes(gfx, metric) if recipe.askable and recipe.counters <= known)
    best = next(usable, None)
    return sorted(best.counters) if best else []


def _resolve(asked: str, gfx: str, rocm: str | None) -> Resolved:
    if means := matching(asked, gfx, rocm):
        return Resolved(asked=asked, gfx=gfx, standing="exists", means=means)
    resolved = resolve(asked, gfx, rocm)
    if "*" in asked and not resolved.means:
        why = no_counters(gfx, rocm) or "no counter of this chip matches"
        return Resolved(asked, gfx, "absent", why=why)
    return resolved
