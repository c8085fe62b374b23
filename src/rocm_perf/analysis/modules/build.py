"""Where in the model time is spent: module by module, forward, recomputed and backward, with the operators in each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.module_spans import GRAPH, REGION, class_name, is_module
from rocm_perf.analysis.basis.nested import nested_ops
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.analysis.modules.attribution import attributed, kernel_use
from rocm_perf.analysis.modules.folding import Fold, folded, shapes_by_place
from rocm_perf.analysis.modules.places import Places, places
from rocm_perf.analysis.modules.sums import Sums, call_totals, subtree_totals
from rocm_perf.analysis.operators.passes import PASSES, Passes, passes
from rocm_perf.analysis.operators.tree import OperatorTree, backward_links, has_operators, operator_tree
from rocm_perf.analysis.time.kernel_use import MATRIX_SHARE, OCCUPANCY, matrix_share, mean_occupancy
from rocm_perf.analysis.time.matrix_units import matrix_use
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.modules import (
    ModuleLine,
    ModuleOperator,
    ModulePass,
    Modules,
    ModuleSpread,
)
from rocm_perf.model.trace import Trace

LINES = 1000  # at most: the largest
NO_MODULES = (
    "no module was recorded (they need stacks: rocm-perf profile --profiler torch --torch-stacks, or torch.profiler's "
    "with_stack=True; or ranges named like `model.layers.0.mlp`)"
)
FORMULAS = {
    "modules.total_ns": "durations of the kernels, copies and fills launched below the modules in the forward pass, "
    "where it was recomputed, and by the backward operators linked to theirs",
    "modules.spread": "total_ns of each of the equal modules: least, median and most",
    "modules.matrix_share": MATRIX_SHARE,
    "modules.occupancy": OCCUPANCY,
}

Row = Mapping[str, Any]


@once_per_trace
def modules(trace: Trace) -> Modules:
    """The modules of the timed pass with equal ones folded, or why there are none."""
    some = has_operators(whole_of(trace)) or nested_ops(trace).height
    tree = operator_tree(trace) if some else None
    if tree is None or not is_module(tree.spans).any():
        return Modules((), (), "gpu", 0, 0, unavailable=NO_MODULES)
    _, linked_by = backward_links(tree)
    kinds = passes(trace)
    where = places(tree.spans, kinds)
    spent = attributed(tree, kinds, where)
    on_gpu = bool(spent["gpu_ns"].sum())
    table = spent.with_columns(time_ns=pl.col("gpu_ns" if on_gpu else "host_ns"))
    outside = table.filter(pl.col("place").is_null())
    total = int(table["time_ns"].sum())
    model = _Model(
        places=where,
        totals=subtree_totals(table, kernel_use(tree, where, matrix_use(trace)), where),
        calls=call_totals(tree.spans, kinds, where),
        operators=_by_place(table),
        total_ns=total,
    )
    lines = [model.line(fold) for fold in _folds(tree, kinds, where)]
    return Modules(
        lines=_largest(lines),
        outside=_operators(outside.iter_rows(named=True)),
        measured="gpu" if on_gpu else "host",
        total_ns=total,
        outside_ns=int(outside["time_ns"].sum()),
        backward_by=linked_by,
        left_out=max(0, len(lines) - LINES),
    )


def _folds(tree: OperatorTree, kinds: Passes, where: Places) -> list[Fold]:
    """Equal modules, by the operators of their forward passes: backward ones follow from them."""
    rows = tree.operators["row"]
    calls = tree.operators.select("name", "shapes", place=where.of_span.gather(rows)).filter(
        kinds.kind.gather(rows) != "backward"
    )
    named = calls.drop_nulls("place").group_by("place").agg(pl.col("name").unique())
    operators = {place: frozenset(names) for place, names in named.iter_rows()}
    return folded(where.names, where.parents, operators, shapes_by_place(calls))


def _by_place(table: pl.DataFrame) -> dict[int, list[Row]]:
    rows: dict[int, list[Row]] = defaultdict(list)
    for row in table.drop_nulls("place").iter_rows(named=True):
        rows[row["place"]].append(row)
    return rows


class _Model(msgspec.Struct, frozen=True):
    """What is known of every place, and how lines follow from it."""

    places: Places
    totals: Sums
    calls: Sums
    operators: Mapping[int, list[Row]]
    total_ns: int

    def line(self, fold: Fold) -> ModuleLine:
        """The line of equal places."""
        members = fold.members
        name = self.places.names[members[0]]
        times = [int(sum(self.totals[f"{kind} time_ns"][place] for kind in PASSES)) for place in members]
        return ModuleLine(
            name=name if len(members) == 1 else class_name(name),
            kind="graph" if name.startswith((GRAPH, REGION)) else "module",
            parent=fold.parent,
            depth=fold.depth,
            modules=len(members),
            calls=self._sum(self.calls["forward calls"], members),
            recomputed_calls=self._sum(self.calls["recomputed calls"], members),
            forward=self._pass("forward", members),
            recomputed=self._pass("recomputed", members),
            backward=self._pass("backward", members),
            total_ns=sum(times),
            share=sum(times) / self.total_ns if self.total_ns else 0.0,
            spread=self._spread(times, members) if len(members) > 1 else None,
            matrix_share=self._matrix_share(members),
            occupancy=self._occupancy(members),
            operators=_operators(row for place in members for row in self.operators.get(place, ())),
        )

    @staticmethod
    def _sum(values: Sequence[float], members: list[int]) -> int:
        return int(sum(values[place] for place in members))

    def _pass(self, kind: str, members: list[int]) -> ModulePass:
        host = self.calls if kind != "backward" else self.totals
        return ModulePass(
            time_ns=self._sum(self.totals[f"{kind} time_ns"], members),
            host_ns=self._sum(host[f"{kind} host_ns"], members),
            dispatches=self._sum(self.totals[f"{kind} dispatches"], members),
        )

    def _spread(self, times: list[int], members: list[int]) -> ModuleSpread:
        longest = max(range(len(times)), key=times.__getitem__)
        return ModuleSpread(
            least_ns=min(times),
            median_ns=median(times),
            most_ns=max(times),
            longest=self.places.names[members[longest]],
        )

    def _matrix_share(self, members: list[int]) -> Quantity:
        matrix, kernels, unknown = (
            self._sum(self.totals[name], members) for name in ("matrix_ns", "kernel_ns", "unknown_ns")
        )
        return matrix_share(matrix, kernels, unknown)

    def _occupancy(self, members: list[int]) -> Quantity:
        occupied = self._sum(self.totals["occupied_ns"], members)
        return mean_occupancy(sum(self.totals["weighted"][place] for place in members), occupied)


def _operators(rows: Iterable[Row]) -> tuple[ModuleOperator, ...]:
    """The operators of one line that took time, the longest first."""
    by_name: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows:
        by_name[row["operator"]].append(row)
    operators = [
        ModuleOperator(
            name=name,
            calls=sum(row["calls"] for row in group),
            total_ns=sum(row["time_ns"] for row in group),
            dispatches=sum(row["dispatches"] for row in group),
            **{f"{kind}_ns": sum(row["time_ns"] for row in group if row["kind"] == kind) for kind in PASSES},
        )
        for name, group in by_name.items()
    ]
    longest_first = sorted(operators, key=lambda operator: (-operator.total_ns, operator.name or ""))
    return tuple(operator for operator in longest_first if operator.total_ns)


def _largest(lines: list[ModuleLine]) -> tuple[ModuleLine, ...]:
    """The largest lines, still each behind the one around it, which is never smaller."""
    ranked = sorted(range(len(lines)), key=lambda place: (-lines[place].total_ns, place))
    kept = sorted(ranked[:LINES])
    new_places = {old: new for new, old in enumerate(kept)}
    return tuple(
        replace(line, parent=None if line.parent is None else new_places[line.parent])
        for line in map(lines.__getitem__, kept)
    )
