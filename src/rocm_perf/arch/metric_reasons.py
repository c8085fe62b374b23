"""Why a metric could not be computed from a recording, naming counters and passes."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.arch.metric_inputs import Pass
from rocm_perf.arch.metric_recipes import Group, Recipe

_FEW = 4  # names in a line


def why_not(options: Sequence[Recipe], recorded: Sequence[Pass]) -> str:
    """What the most complete recipe still lacks."""
    begun = [recipe for recipe in options if _missing(recipe, recorded) < recipe.counters]
    nearest = min(begun, key=lambda recipe: len(_missing(recipe, recorded))) if begun else options[0]
    missing = _missing(nearest, recorded)
    if missing:
        return f"needs {nearest.names(missing)} ({_where(nearest, recorded)})"
    group = next(g for g in nearest.groups if not any(g.recorded_in(p.counters) for p in recorded))
    return _apart(nearest, group, recorded)


def unmatched(home: Pass, others: Sequence[Pass]) -> str:
    """Why the dispatches of two passes cannot be matched."""
    numbers = _numbers((home, *others))
    if not all(p.matchable for p in (home, *others)):
        return f"inputs come from {numbers}, and it is not recorded which process of one is which of another"
    return f"inputs come from {numbers}, which do not list the same dispatches of any kernel"


def _missing(recipe: Recipe, recorded: Sequence[Pass]) -> frozenset[str]:
    return frozenset(n for n in recipe.counters if not any(n in p.counters for p in recorded))


def _where(recipe: Recipe, recorded: Sequence[Pass]) -> str:
    """The pass that has most of the other inputs, or that none has any."""
    have = [(p, recipe.counters & p.counters.keys()) for p in recorded]
    best = max(have, key=lambda pair: len(pair[1]), default=None)
    if best is None or not best[1]:
        return "no pass recorded any of its inputs"
    others = (
        recipe.names(frozenset(best[1])) if len(best[1]) <= _FEW else f"{len(best[1])} of its other inputs"
    )
    return f"pass {best[0].number} recorded {others}"


def _apart(recipe: Recipe, group: Group, recorded: Sequence[Pass]) -> str:
    spoilt = next((p for p in recorded if group.counters <= p.counters.keys()), None)
    if spoilt is not None:
        present = recipe.names(frozenset(group.without & spoilt.counters.keys()))
        return f"pass {spoilt.number} also recorded {present}, so what its accumulator counted is not known"
    passes = {name: next(p for p in recorded if name in p.counters) for name in sorted(group.counters)}
    places = ", ".join(f"{recipe.shown.get(name, name)} (pass {p.number})" for name, p in passes.items())
    return f"needs its inputs from one pass, but they come from different runs of the application: {places}"


def _numbers(recorded: Sequence[Pass]) -> str:
    return "passes " + " and ".join(str(p.number) for p in recorded)
