"""Which counters to ask for in which run of the application: the fewest passes that the hardware allows.

Pure: nothing is started here. A set of counters that does not fit is refused before a profiler sees it, because
profilers have crashed or hung on such sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rocm_perf.arch.counter_names import resolve
from rocm_perf.arch.counters import block, block_of, blocks, chip, counters, definitions, hardware_counters
from rocm_perf.arch.metric_data import metrics, metrics_of
from rocm_perf.arch.metric_recipes import Recipe, recipes
from rocm_perf.arch.packing import Slots, pack
from rocm_perf.errors import UsageError
from rocm_perf.units import format_count

Names = tuple[str, ...]


_FEW_STEPS = 100  # of the search for what is only better


class PlannedPass(msgspec.Struct, frozen=True):
    """One run of the application."""

    ask: Names  # what the profiler is asked for
    hardware: Mapping[str, Names]  # what the hardware counts for it, by block
    slots: Mapping[str, int]  # of each of those blocks

    def describe(self) -> str:
        """The counters to ask for, and the slots that they use."""
        used = ", ".join(
            f"{name} {len(counters)} of {self.slots[name]}" for name, counters in self.hardware.items()
        )
        return f"{' '.join(self.ask)} ({used})" if used else " ".join(self.ask)


class PassPlan(msgspec.Struct, frozen=True):
    """All runs that a request needs."""

    gfx: str
    passes: tuple[PlannedPass, ...]
    fewest: bool  # no smaller number of passes is enough
    notes: Names = ()

    @property
    def runs(self) -> int:
        """How many times the application runs."""
        return len(self.passes)

    def describe(self) -> Names:
        """The lines that a user should read before anything starts."""
        times = "once" if self.runs == 1 else f"{self.runs} times"
        head = f"{format_count(self.runs, 'pass', 'passes')} on {self.gfx}: the application runs {times}"
        lines = (f"pass {number}: {each.describe()}" for number, each in enumerate(self.passes, 1))
        return (head, *lines, *self.notes)


class _Wish(msgspec.Struct, frozen=True):
    """Counters that have to be in one pass."""

    names: Names
    whose: str  # what a user asked for


def plan_passes(
    wanted: Sequence[str],
    gfx: str,
    rocm: str | None = None,
    together: Iterable[Sequence[str]] = (),
    rather: Iterable[Sequence[str]] = (),
) -> PassPlan:
    """Passes for counters and metrics by name; a metric's inputs, and each group in `together`, share one pass. So does
    each group in `rather` that takes no further pass.

    A metric too large for one pass is split if its formula allows it, and a note says so.
    """
    groups = [tuple(group) for group in together]
    best = _Planner(chip(gfx), rocm).plan(wanted, groups)
    more = [tuple(group) for group in rather if tuple(group) not in groups]
    for added in (more, *([group] for group in more)):
        if not added or all(_is_together(group, best) for group in added):
            continue
        tried = _Planner(chip(gfx), rocm, _FEW_STEPS).plan(wanted, (*groups, *added))
        if tried.runs == best.runs:
            best = tried
            groups += added
    return best


def _is_together(group: Names, plan: PassPlan) -> bool:
    return any(set(group) <= set(each.ask) for each in plan.passes)


def kept_together(wanted: Iterable[str], gfx: str, rocm: str | None = None) -> tuple[Names, ...]:
    """The groups of these counters that a metric needs from one pass: `together` for `plan_passes`."""
    return _Planner(chip(gfx), rocm).metric_groups(frozenset(wanted))


class _Planner:
    def __init__(self, gfx: str, rocm: str | None, most_steps: int | None = None) -> None:
        self._most_steps = most_steps
        self._gfx = gfx
        self._rocm = rocm
        self._notes: list[str] = []
        self._slots = blocks(gfx, rocm)

    def plan(self, wanted: Sequence[str], together: Iterable[Sequence[str]]) -> PassPlan:
        groups = [tuple(group) for group in together]
        self._refuse_unknown((*wanted, *(name for group in groups for name in group)))
        wishes = [wish for name in dict.fromkeys(wanted) for wish in self._wishes(name)]
        wishes += [
            _Wish(tuple(real for name in group for real in self._real(name)), ", ".join(group))
            for group in groups
        ]
        for wish in wishes:
            self._refuse_overfull(wish)
        slots = self._places(frozenset().union(*(self._cost(wish.names) for wish in wishes)))
        packing = pack([self._cost(wish.names) for wish in wishes], slots, self._most_steps)
        passes = tuple(
            self._planned(ask, hardware, slots) for ask, hardware in self._asked(wishes, packing.passes)
        )
        self._note(passes, packing.fewest)
        return PassPlan(
            gfx=self._gfx, passes=passes, fewest=packing.fewest, notes=tuple(dict.fromkeys(self._notes))
        )

    def metric_groups(self, wanted: frozenset[str]) -> tuple[Names, ...]:
        known = wanted & counters(self._gfx, self._rocm).keys()
        groups = dict.fromkeys(
            tuple(sorted(recipe.counters))
            for name in metrics_of(self._gfx)
            for recipe in recipes(self._gfx, name)
            if recipe.askable and recipe.counters <= known
        )
        return tuple(group for group in groups if len(group) > 1 and self._fit(group))

    def _asked(
        self, wishes: Sequence[_Wish], passes: Sequence[frozenset[str]]
    ) -> list[tuple[Names, frozenset[str]]]:
        """What to ask for in each pass; constants of the GPU, which cost nothing, in the first."""
        hardware = passes or [frozenset[str]()] * bool(wishes)
        asked: list[dict[str, None]] = [{} for _ in hardware]
        for wish in wishes:
            cost = self._cost(wish.names)
            at = next(i for i, counters_of_pass in enumerate(hardware) if cost <= counters_of_pass)
            asked[at].update(dict.fromkeys(wish.names))
        return [(tuple(ask), each) for ask, each in zip(asked, hardware, strict=True)]

    def _wishes(self, name: str) -> list[_Wish]:
        if name in metrics():
            return self._metric(name)
        return [_Wish((real,), name) for real in self._real(name)]

    def _real(self, name: str) -> Names:
        """The counters that a name means here."""
        resolved = resolve(name, self._gfx, self._rocm)
        if resolved.standing != "exists":
            self._notes.append(resolved.describe())
        return resolved.means

    def _refuse_unknown(self, names: Iterable[str]) -> None:
        counters_asked = [name for name in dict.fromkeys(names) if name not in metrics()]
        resolved = [resolve(name, self._gfx, self._rocm) for name in counters_asked]
        lines = [each.describe() for each in resolved if not each.means]
        if lines:
            next_step = f"rocm-perf list-counters --arch {self._gfx} lists them all."
            raise UsageError("; ".join(lines), next_step=next_step)

    def _metric(self, name: str) -> list[_Wish]:
        """Its inputs in one pass; if they do not fit, split by formula; if even that fails, as far as allowed."""
        recipe = self._recipe(name)
        if self._fit(recipe.counters):
            return [_Wish(tuple(sorted(recipe.counters)), name)]
        parts: list[frozenset[str]] = []
        for bundle in recipe.bundles:
            split = [group.counters for group in recipe.groups if group.counters <= bundle]
            parts += [bundle] if self._fit(bundle) else split
        count = len(recipe.counters)
        self._notes.append(f"{name}: its {count} counters do not fit in one pass; its values combine several")
        return [_Wish(tuple(sorted(part)), name) for part in parts]

    def _recipe(self, name: str) -> Recipe:
        known = counters(self._gfx, self._rocm)
        options = [recipe for recipe in recipes(self._gfx, name) if recipe.askable]
        usable = next((recipe for recipe in options if recipe.counters <= known.keys()), None)
        if usable is not None:
            return usable
        if not options:
            raise UsageError(
                f"metric {name} cannot be recorded on {self._gfx}", "it has no known formula there"
            )
        missing = options[0].names(options[0].counters - known.keys())
        note = definitions(self._gfx, self._rocm).note
        raise UsageError(f"metric {name} cannot be recorded on {self._gfx}", f"it needs {missing}", note)

    def _cost(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*(hardware_counters(self._gfx, name, self._rocm) for name in names))

    def _places(self, hardware: Iterable[str]) -> Slots:
        return Slots({name: block_of(self._gfx, name, self._rocm) for name in hardware}, self._slots)

    def _fit(self, names: Iterable[str]) -> bool:
        cost = self._cost(names)
        return self._places(cost).fit(cost)

    def _refuse_overfull(self, wish: _Wish) -> None:
        cost = self._cost(wish.names)
        slots = self._places(cost)
        for name in slots.overfull(cost):
            needed = sorted(counter for counter in cost if slots.block_of[counter] == name)
            raise UsageError(
                f"{wish.whose} cannot be counted in one pass on {self._gfx}",
                f"it takes {len(needed)} counters of {name}, which has {self._slots[name]} slots: {', '.join(needed)}",
                f"Leave out {len(needed) - self._slots[name]} of them, or do not ask for them together.",
            )

    def _planned(self, ask: Names, hardware: frozenset[str], slots: Slots) -> PlannedPass:
        by_block = {
            name: tuple(sorted(c for c in hardware if slots.block_of[c] == name)) for name in self._slots
        }
        used = {name: counters for name, counters in by_block.items() if counters}
        return PlannedPass(ask, used, {name: self._slots[name] for name in used})

    def _note(self, passes: Iterable[PlannedPass], fewest: bool) -> None:
        used = sorted({name for each in passes for name in each.hardware})
        assumed = [name for name in used if block(name).assumed]
        if assumed:
            self._notes.append(
                f"the number of slots of {', '.join(assumed)} is not documented; a small one is assumed"
            )
        if not fewest:
            self._notes.append("fewer passes might be enough: not every arrangement was tried")
        if note := definitions(self._gfx, self._rocm).note:
            self._notes.append(note)
