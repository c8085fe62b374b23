"""The ways to compute a metric: its formulas written out down to the counters, in order of preference."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import cache
from itertools import product

import msgspec

from rocm_perf.arch.expression import Expression, inline
from rocm_perf.arch.metric_data import ACTIVE_CYCLES, BUILT_IN, Formula, Metric, metrics, metrics_of


class Group(msgspec.Struct, frozen=True):
    """Counters that are only meaningful if one pass recorded them all."""

    counters: frozenset[str]
    without: frozenset[str] = frozenset()  # and none of these

    def recorded_in(self, recorded: Container[str]) -> bool:
        """Whether a pass with these counters has the group."""
        return all(name in recorded for name in self.counters) and not any(
            n in recorded for n in self.without
        )


class Recipe(msgspec.Struct, frozen=True):
    """One way to a metric: an expression over counters, constants of the GPU and the duration."""

    metric: Metric
    expression: Expression
    groups: tuple[Group, ...]
    bundles: tuple[frozenset[str], ...]  # counters of one formula: better in one pass, if they fit
    averaged: bool
    doubts: tuple[str, ...]
    askable: bool  # a profiler can be asked for its inputs
    shown: Mapping[str, str]  # inputs whose recorded name is another

    @property
    def counters(self) -> frozenset[str]:
        """All counters that it needs."""
        return frozenset().union(*(group.counters for group in self.groups))

    def names(self, counters: frozenset[str]) -> str:
        """Counters as a user would ask for them, in one text."""
        return ", ".join(sorted(self.shown.get(name, name) for name in counters))


@cache
def recipes(gfx: str, name: str) -> tuple[Recipe, ...]:
    """Every way to a metric on a GPU, the best first; empty if it has no formula there."""
    metric = metrics_of(gfx).get(name)
    if metric is None:
        return ()
    return tuple(recipe for formula in metric.formulas for recipe in _written_out(gfx, metric, formula))


def _written_out(gfx: str, metric: Metric, formula: Formula) -> Iterator[Recipe]:
    used = sorted(formula.tree.names & metrics().keys())
    for parts in product(*(recipes(gfx, name) for name in used)):
        yield _recipe(metric, formula, dict(zip(used, parts, strict=True)))


def _recipe(metric: Metric, formula: Formula, parts: Mapping[str, Recipe]) -> Recipe:
    definitions = {"g": ACTIVE_CYCLES, **{name: part.expression for name, part in parts.items()}}
    own = _own_counters(formula, parts)
    return Recipe(
        metric=metric,
        expression=inline(formula.tree, definitions),
        groups=_groups(formula, own, parts),
        bundles=_bundles(formula, own, parts),
        averaged=formula.averaged or any(part.averaged for part in parts.values()),
        doubts=tuple(dict.fromkeys(doubt for doubt in (formula.doubt, *_doubts(parts)) if doubt)),
        askable=not formula.written_by and all(part.askable for part in parts.values()),
        shown={
            **{name: formula.shown(name) for name in own if formula.shown(name) != name},
            **{name: real for part in parts.values() for name, real in part.shown.items()},
        },
    )


def _own_counters(formula: Formula, parts: Mapping[str, Recipe]) -> frozenset[str]:
    names = formula.tree.names - BUILT_IN - parts.keys()
    cycles = ACTIVE_CYCLES.names - BUILT_IN if "g" in formula.tree.names else frozenset()
    return names | cycles | frozenset(formula.beside)


def _groups(formula: Formula, own: frozenset[str], parts: Mapping[str, Recipe]) -> tuple[Group, ...]:
    inner = [group for part in parts.values() for group in part.groups]
    if formula.across_passes:
        return (*(Group(frozenset((name,))) for name in sorted(own)), *inner)
    together = own.union(*(group.counters for group in inner))
    without = frozenset(formula.not_beside).union(*(group.without for group in inner))
    return (Group(together, without),)


def _bundles(
    formula: Formula, own: frozenset[str], parts: Mapping[str, Recipe]
) -> tuple[frozenset[str], ...]:
    inner = [bundle for part in parts.values() for bundle in part.bundles]
    if not formula.across_passes:
        return (own.union(*inner),)
    return (own, *inner) if own else tuple(inner)


def _doubts(parts: Mapping[str, Recipe]) -> Iterator[str]:
    for part in parts.values():
        yield from part.doubts
