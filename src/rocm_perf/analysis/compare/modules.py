"""The nn.Modules of both sides, each with what it takes in the runs of both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.basis.module_spans import is_nn_module
from rocm_perf.analysis.compare.estimates import count_change, time_change
from rocm_perf.analysis.compare.models.calls import without_numbers
from rocm_perf.analysis.compare.models.places import BACKWARD, module_paths
from rocm_perf.analysis.compare.runs import JudgedRun
from rocm_perf.analysis.operators.call_sites import NO_MODULES
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.model.results.comparison import Change, ModuleChange
from rocm_perf.units import format_list

_NAMED = 3  # runs without modules


class _Use(NamedTuple):
    """What one run makes of the modules of a path, for each step or for the run."""

    calls: float
    gpu_ns: float
    host_ns: float


_UNUSED = _Use(0, 0, 0)


def why_no_modules(base: Sequence[JudgedRun], new: Sequence[JudgedRun]) -> str | None:
    """Why modules cannot be compared, or None where every run recorded some."""
    runs = (*base, *new)
    silent = [run.label for run in runs if not is_nn_module(operator_tree(run.host_trace).spans).any()]
    if not silent:
        return None
    return NO_MODULES if len(silent) == len(runs) else f"{NO_MODULES} in {format_list(silent, _NAMED)}"


def module_changes(base: Sequence[JudgedRun], new: Sequence[JudgedRun]) -> tuple[ModuleChange, ...]:
    """Every path of modules of either side once, the largest difference first; none where a run recorded none."""
    if why_no_modules(base, new):
        return ()
    before, after = ([_uses(run) for run in side] for side in (base, new))
    paths = dict.fromkeys(path for run in (*before, *after) for path in run)
    changes = [
        _change(
            path,
            [run.get(path, _UNUSED) for run in before],
            [run.get(path, _UNUSED) for run in after],
            comparisons=len(paths),
        )
        for path in paths
    ]
    return tuple(sorted(changes, key=_rank))


def _rank(change: ModuleChange) -> tuple[float, str]:
    return -max(abs(change.gpu.difference), abs(change.host.difference)), change.module


def _change(path: str, base: Sequence[_Use], new: Sequence[_Use], *, comparisons: int) -> ModuleChange:
    def timed(time: Callable[[_Use], float]) -> Change:
        return time_change([*map(time, base)], [*map(time, new)], comparisons=comparisons)

    return ModuleChange(
        module=path,
        gpu=timed(lambda use: use.gpu_ns),
        host=timed(lambda use: use.host_ns),
        calls=count_change([use.calls for use in base], [use.calls for use in new]),
    )


def _uses(run: JudgedRun) -> dict[str, _Use]:
    """What the run makes of each path, and of all paths inside it."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for path, times in _own(run):
        for outer in accumulate(path.split("/"), "{}/{}".format):
            sums[outer][1:] = [total + time for total, time in zip(sums[outer][1:], times[1:], strict=True)]
        sums[path][0] += times[0]
    return {path: _Use(*(total / run.units for total in totals)) for path, totals in sums.items()}


def _own(run: JudgedRun) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Calls of modules, and times of operators, by the innermost path around them."""
    tree = operator_tree(run.host_trace)
    table = (
        tree.spans.with_columns(
            module_paths(run.host_trace).alias("path"), is_nn_module(tree.spans).alias("calls")
        )
        .filter(run.is_called)
        .join(tree.operators.select("row", "host_self_ns"), on="row", how="left")
        .drop_nulls("path")
        .group_by("path")
        .agg(pl.col("calls", "gpu_self_ns", "host_self_ns").sum())
    )
    for path, calls, gpu_ns, host_ns in table.iter_rows():
        yield without_numbers(path.removesuffix(BACKWARD)), (calls, gpu_ns, host_ns)
