"""Equal modules folded into one. Modules are equal if they are of one class and hold equal modules, in the same order,
and the same operators; modules without others inside also need the same argument shapes, which is all that tells the
projections of a layer apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
import polars as pl

from rocm_perf.analysis.basis.module_spans import class_name


class Fold(msgspec.Struct, frozen=True):
    """Places that are equal, and the place in the list of folds of what is around them."""

    parent: int | None
    depth: int
    members: list[int]


def folded(
    names: Sequence[str],
    parents: Sequence[int | None],
    operators: Mapping[int, frozenset[str]],
    shapes: Mapping[int, int],
) -> list[Fold]:
    """The folds of all places, each behind the one around it, those of one parent in the order of their first calls.
    `operators`: the names of those directly in each place; `shapes`: what tells apart what they were called with."""
    children: dict[int | None, list[int]] = defaultdict(list)
    for place, parent in enumerate(parents):
        children[parent].append(place)
    structures = _structures(names, children, operators)

    def inside(members: list[int], parent: int | None, depth: int) -> list[Fold]:
        """The folds inside equal places, the last first."""
        groups = zip(*(children[member] for member in members), strict=True)
        merged = _merged([list(group) for group in groups], structures, children, shapes)
        return [Fold(parent, depth, group) for group in reversed(merged)]

    roots = _merged([[place] for place in children[None]], structures, children, shapes)
    folds: list[Fold] = []
    waiting = [Fold(None, 0, members) for members in reversed(roots)]
    while waiting:
        fold = waiting.pop()
        waiting += inside(fold.members, len(folds), fold.depth + 1)
        folds.append(fold)
    return folds


def _structures(
    names: Sequence[str],
    children: Mapping[int | None, list[int]],
    operators: Mapping[int, frozenset[str]],
) -> list[int]:
    """A number for each place: the same for equal ones. What is inside a place stands behind it in the list."""
    numbers: dict[object, int] = {}
    structures = [0] * len(names)
    for place in range(len(names) - 1, -1, -1):
        inside = tuple(structures[child] for child in children.get(place, ()))
        kind = (class_name(names[place]), inside, operators.get(place, frozenset()))
        structures[place] = numbers.setdefault(kind, len(numbers))
    return structures


def _merged(
    groups: list[list[int]],
    structures: list[int],
    children: Mapping[int | None, list[int]],
    shapes: Mapping[int, int],
) -> list[list[int]]:
    """The groups, equal ones as one."""
    merged: dict[tuple[int, object], list[int]] = {}
    for group in groups:
        first = group[0]
        arguments = None if children.get(first) else frozenset(shapes.get(place) for place in group)
        merged.setdefault((structures[first], arguments), []).extend(group)
    return list(merged.values())


def shapes_by_place(operators: pl.DataFrame) -> dict[int, int]:
    """A number for each place that tells apart the operators directly in it with their shapes (columns place, name,
    shapes)."""
    calls = operators.drop_nulls("place").select("place", call=pl.struct("name", "shapes").hash())
    table = calls.unique().group_by("place").agg(pl.col("call").sort().implode().first())
    return {place: hash(tuple(call)) for place, call in table.iter_rows()}
