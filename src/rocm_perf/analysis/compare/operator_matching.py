"""Which framework operators of two sides are the same: by name, by name without what a compiler numbers, then by what
they do and where they are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import polars as pl

from rocm_perf.analysis.basis.forest import nearest
from rocm_perf.analysis.basis.module_spans import is_nn_module
from rocm_perf.analysis.compare.matching import Names, grouped, paired, unnumbered
from rocm_perf.analysis.compare.places import Traits, agreeing
from rocm_perf.analysis.compare.runs import JudgedRun
from rocm_perf.analysis.operators.categories import OTHER, operator_category
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.model.results.comparison import OperatorMatch

# torch.compile names a graph by a hash, and a region by how often it was compiled.
_GRAPH = re.compile(r"(CompiledFxGraph|Torch-Compiled Region:) [\w/]+")


class MatchedOperator(msgspec.Struct, frozen=True):
    """The names that one operator has on each side; none on a side where it does not occur."""

    match: OperatorMatch
    base: Names
    new: Names


@dataclass(frozen=True)
class OperatorPlaces:
    """The operators of one side, and where its first run calls them."""

    runs: tuple[JudgedRun, ...]

    @cached_property
    def names(self) -> list[str]:
        """Every operator of any run, in the order of their first calls."""
        called = (operator_tree(run.host_trace).operators.filter(run.is_called) for run in self.runs)
        columns = (operators["name"] for operators in called)
        return list(dict.fromkeys(name for column in columns for name in column.unique(maintain_order=True)))

    def traits(self, names: Collection[str]) -> Traits:
        """How often each of these is called in each place of a step or run; calls that nothing is around have none."""
        run = self.runs[0]
        spans = operator_tree(run.host_trace).spans
        module = nearest(spans["parent"], is_nn_module(spans))
        wanted = (pl.col("category") == "operator") & pl.col("name").is_in(list(names)) & run.is_called
        calls = (
            spans.with_columns(
                spans["name"].gather(spans["operator"]).alias("operator"),
                spans["name"].gather(module).alias("module"),
            )
            .filter(wanted)
            .select("name", "operator", "module")
        )
        traits: Traits = {}
        for name, operator, around, count in calls.group_by(calls.columns).len().iter_rows():
            if operator or around:
                place = (operator and plain_operator(operator), around)
                traits.setdefault(name, Counter())[place] += max(1, round(count / run.units))
        return traits


def match_operators(base: OperatorPlaces, new: OperatorPlaces) -> list[MatchedOperator]:
    """Every operator of either side once."""
    by_name, left, right = paired(base.names, new.names, str)
    by_plain_name, left, right = paired(left, right, plain_operator)
    by_place = _placed(base, new, left, right)
    placed = {name for pair in by_place for name in pair}
    return [
        *(MatchedOperator("name", *pair) for pair in by_name),
        *(MatchedOperator("name without numbers", *pair) for pair in by_plain_name),
        *(MatchedOperator("category and place", (one,), (other,)) for one, other in by_place),
        *(MatchedOperator("vanished", names, ()) for names in _alone(left, placed)),
        *(MatchedOperator("appeared", (), names) for names in _alone(right, placed)),
    ]


def plain_operator(name: str) -> str:
    """The name without the numbers and hashes that torch.compile gives."""
    return unnumbered(_GRAPH.sub(r"\1", name))


def _placed(
    base: OperatorPlaces, new: OperatorPlaces, left: Sequence[str], right: Sequence[str]
) -> list[tuple[str, str]]:
    if not left or not right:
        return []
    return agreeing(left, right, [(base.traits(left), new.traits(right))], _is_comparable)


def _is_comparable(one: str, other: str) -> bool:
    return operator_category(one) == operator_category(other) != OTHER


def _alone(names: Sequence[str], placed: set[str]) -> Iterable[Names]:
    """The names without a counterpart, those of one plain name together."""
    return grouped([name for name in names if name not in placed], plain_operator).values()
