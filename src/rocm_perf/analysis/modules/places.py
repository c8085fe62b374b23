"""The modules of a model as a tree: calls of one module inside the same modules are one place in it. Where a module
runs again during the backward pass, its place is that of its first run."""

from __future__ import annotations

from collections import defaultdict

import msgspec
import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around, nearest
from rocm_perf.analysis.basis.module_spans import bare_names, is_module
from rocm_perf.analysis.operators.passes import Passes


class Places(msgspec.Struct, frozen=True):
    """`names` and `parents` of the places, each behind the one around it. `of_span`: the place to which each span
    belongs, through its module or through the forward operator of its backward step. `of_module`: the place of the
    spans that are calls of modules themselves, null for others."""

    names: list[str]
    parents: list[int | None]
    of_span: pl.Series
    of_module: pl.Series


class _Tree:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.parents: list[int | None] = []
        self._known: dict[tuple[int | None, str], int] = {}
        self._named: dict[str, list[int]] = defaultdict(list)

    def place(self, parent: int | None, name: str) -> int:
        """The place of a module inside another, made where there is none."""
        place = self._known.get((parent, name))
        if place is None:
            place = self._known[parent, name] = len(self.names)
            self.names.append(name)
            self.parents.append(parent)
            self._named[name].append(place)
        return place

    def place_again(self, name: str) -> int:
        """The only place with this name, or one of its own outside of the others where several modules share it."""
        places = self._named.get(name, [])
        return places[0] if len(places) == 1 else self.place(None, name)


def places(spans: pl.DataFrame, passes: Passes) -> Places:
    """The places of all spans; null for what belongs to no module."""
    modules = is_module(spans)
    of_module, tree = _of_modules(spans, modules, passes)
    innermost = _within_turn(itself_or_around(spans["parent"], modules), passes)
    direct = of_module.gather(innermost)
    of_backward = direct.gather(passes.source)
    return Places(
        names=tree.names,
        parents=tree.parents,
        of_span=direct.zip_with((passes.kind != "backward"), of_backward).alias("place"),
        of_module=of_module,
    )


def _within_turn(modules: pl.Series, passes: Passes) -> pl.Series:
    """The rows of modules, null where one lies around the backward pass and not in it."""
    around = (modules < passes.turn).fill_null(False)
    return pl.select(pl.when(~around).then(modules)).to_series()


def _of_modules(spans: pl.DataFrame, modules: pl.Series, passes: Passes) -> tuple[pl.Series, _Tree]:
    """The place of every call of a module, first runs before repeated ones."""
    calls = spans.select(
        "row",
        "name",
        around=_within_turn(nearest(spans["parent"], modules), passes),
        kind=passes.kind,
    ).filter(modules & (passes.kind != "backward"))
    calls = calls.with_columns(bare_names(calls["name"]))
    tree = _Tree()
    place_of: dict[int, int] = {}
    for kind in ("forward", "recomputed"):
        own = calls.filter(pl.col("kind") == kind)
        columns = (own[column].to_list() for column in ("row", "name", "around"))
        for row, name, around in zip(*columns, strict=True):
            if around is not None:
                place_of[row] = tree.place(place_of[around], name)
            elif kind == "forward":
                place_of[row] = tree.place(None, name)
            else:
                place_of[row] = tree.place_again(name)
    empty = pl.repeat(None, spans.height, dtype=pl.UInt32, eager=True).alias("place")
    return empty.scatter(list(place_of), list(place_of.values())), tree
