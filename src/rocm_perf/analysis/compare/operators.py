"""The framework operators of both sides, each with what it takes in the runs of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.compare.estimates import count_change, time_change
from rocm_perf.analysis.compare.operator_matching import MatchedOperator, OperatorPlaces, match_operators
from rocm_perf.analysis.compare.runs import Judged, JudgedRun
from rocm_perf.analysis.operators.build import NO_OPERATORS
from rocm_perf.analysis.operators.categories import operator_category
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.model.results.comparison import Change, OperatorChange
from rocm_perf.units import format_list

_NAMED = 3  # runs without operators


class _Use(NamedTuple):
    """What one run makes of an operator, for each step or for the run."""

    calls: float
    gpu_ns: float
    host_ns: float


_Uses = dict[str, _Use]  # by the name of the operator
_UNUSED = _Use(0, 0, 0)


def why_no_operators(base: Sequence[JudgedRun], new: Sequence[JudgedRun]) -> str | None:
    """Why operators cannot be compared, or None where every run recorded some."""
    runs = (*base, *new)
    silent = [run.label for run in runs if not _has_operators(run)]
    if not silent:
        return None
    if len(silent) == len(runs):
        return NO_OPERATORS
    return (
        f"no framework operator was recorded in {format_list(silent, _NAMED)}, unlike in the other runs "
        "(torch.profiler records them)"
    )


def has_operators(runs: Judged) -> bool:
    """Whether any run recorded operators."""
    return any(_has_operators(run) for run in (*runs.base, *runs.new))


def operator_changes(base: tuple[JudgedRun, ...], new: tuple[JudgedRun, ...]) -> tuple[OperatorChange, ...]:
    """Every operator of either side once, the largest difference of GPU or host time first; none where a run recorded
    no operators."""
    if why_no_operators(base, new):
        return ()
    matched = match_operators(OperatorPlaces(base), OperatorPlaces(new))
    before, after = ([_uses(run) for run in side] for side in (base, new))
    changes = [
        _change(
            pair,
            [_together(run, pair.base) for run in before],
            [_together(run, pair.new) for run in after],
            comparisons=len(matched),
        )
        for pair in matched
    ]
    return tuple(sorted(changes, key=_rank))


def _rank(change: OperatorChange) -> tuple[float, str, tuple[str, ...]]:
    largest = max(abs(change.gpu.difference), abs(change.host.difference))
    return -largest, change.operator, change.base_names


def _change(
    pair: MatchedOperator, base: Sequence[_Use], new: Sequence[_Use], *, comparisons: int
) -> OperatorChange:
    def timed(time: Callable[[_Use], float]) -> Change:
        return time_change([*map(time, base)], [*map(time, new)], comparisons=comparisons)

    operator = (pair.base or pair.new)[0]
    return OperatorChange(
        operator=operator,
        new_operator=(pair.new or pair.base)[0],
        category=operator_category(operator),
        match=pair.match,
        base_names=pair.base,
        new_names=pair.new,
        gpu=timed(lambda use: use.gpu_ns),
        host=timed(lambda use: use.host_ns),
        calls=count_change([use.calls for use in base], [use.calls for use in new]),
    )


def _has_operators(run: JudgedRun) -> bool:
    return operator_tree(run.host_trace).operators.filter(run.is_called).height > 0


def _uses(run: JudgedRun) -> _Uses:
    """What the run makes of each operator."""
    operators = operator_tree(run.host_trace).operators.filter(run.is_called)
    table = operators.group_by("name").agg(
        pl.len(), pl.col("gpu_self_ns").sum(), pl.col("host_self_ns").sum()
    )
    return {
        name: _Use(calls / run.units, gpu_ns / run.units, host_ns / run.units)
        for name, calls, gpu_ns, host_ns in table.iter_rows()
    }


def _together(uses: _Uses, names: Sequence[str]) -> _Use:
    own = [uses.get(name, _UNUSED) for name in names]
    return _Use(
        calls=sum(use.calls for use in own),
        gpu_ns=sum(use.gpu_ns for use in own),
        host_ns=sum(use.host_ns for use in own),
    )
