"""Where calls of operators stand: the nn.Modules and the operators around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around
from rocm_perf.analysis.basis.module_spans import PREFIX, is_nn_module
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.operators.categories import operator_category
from rocm_perf.analysis.operators.tree import OperatorTree, backward_links, operator_tree
from rocm_perf.model.trace import Trace

BACKWARD = " (backward)"
_WRAPPERS = ("compiled", "autograd")  # operators around everything that a compiler or autograd calls


@once_per_trace
def module_paths(trace: Trace) -> pl.Series:
    """For each span of the operator tree the path of the modules around it, null where there is none; for what autograd
    runs backwards, that of the forward operator."""
    tree = operator_tree(trace)
    spans = tree.spans
    wanted = is_nn_module(spans)
    around = itself_or_around(spans["parent"], wanted)
    paths: dict[int, str] = {}
    outer = around.gather(spans["parent"])
    modules = spans.select("row", outer.alias("outer"), "name").filter(wanted)
    for row, parent, name in modules.iter_rows():
        own = name.removeprefix(PREFIX)
        paths[row] = own if parent is None else f"{paths[parent]}/{own}"
    forward = _text(around, paths)
    paths_of: pl.Series = forward.zip_with(forward.is_not_null(), _of_backward(tree, forward))
    return paths_of


def _text(rows: pl.Series, paths: dict[int, str]) -> pl.Series:
    texts: pl.Series = rows.replace_strict(paths, default=None, return_dtype=pl.String)
    return texts


def _of_backward(tree: OperatorTree, forward: pl.Series) -> pl.Series:
    """For each span inside a backward operator, the modules of the forward one."""
    links, _ = backward_links(tree)
    linked = pl.Series([None] * forward.len(), dtype=pl.UInt32).scatter(
        links["backward"], links["forward"].cast(pl.UInt32)
    )
    nearest = itself_or_around(tree.spans["parent"], linked.is_not_null())
    modules: pl.Series = forward.gather(linked.gather(nearest)) + BACKWARD
    return modules


class Surroundings(msgspec.Struct, frozen=True):
    """The operators around a call, the outermost first, and which call that one is."""

    around: tuple[str, ...]
    root: int
    root_shapes: str | None


def surroundings(tree: OperatorTree, owners: Iterable[int]) -> dict[int, Surroundings]:
    """The operators around each of these; what only wraps everything is left out."""
    names, outer = tree.spans["name"].to_list(), tree.spans["operator"].to_list()
    shapes = dict(zip(tree.operators["row"], tree.operators["shapes"], strict=True))
    chains = {owner: _chain(names, outer, owner) for owner in owners}
    return {
        owner: Surroundings(
            around=tuple(names[row] for row in chain[:-1]), root=chain[0], root_shapes=shapes.get(chain[0])
        )
        for owner, chain in chains.items()
    }


def _chain(names: Sequence[str], outer: Sequence[int | None], owner: int) -> Sequence[int]:
    """The operator and those around it, the outermost first."""
    rows, row = [owner], outer[owner]
    while row is not None:
        if operator_category(names[row]) not in _WRAPPERS:
            rows.append(row)
        row = outer[row]
    return rows[::-1]
