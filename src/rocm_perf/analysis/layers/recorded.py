"""What recorded modules say of layers that were found by repetition: which they are, where some are recorded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around
from rocm_perf.analysis.basis.module_spans import bare_names, class_name, is_nn_module
from rocm_perf.analysis.layers.repetition import Stack
from rocm_perf.analysis.layers.units import Unit
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.model.trace import Trace

_OF_LAYER = 0.8  # of its time: layers by repetition may begin some kernels before their module or behind it


def recorded_modules(trace: Trace, unit: Unit, stack: Stack) -> str | None:
    """The class of the modules that most layers are a call of, each of another; None where there are none."""
    spans = operator_tree(trace).spans
    modules = is_nn_module(spans)
    if not modules.any():
        return None
    innermost = itself_or_around(spans["parent"], modules)
    outwards = innermost.gather(spans["parent"])
    layers = [_calls(unit, span, innermost, outwards) for span in pairwise(stack.borders)]
    counts = Counter(call for calls in layers for call in calls)
    own = [min(alone) for calls in layers if (alone := [call for call in calls if counts[call] == 1])]
    classes = Counter(map(class_name, bare_names(spans["name"].gather(own)).cast(pl.String)))
    name, count = classes.most_common(1)[0] if classes else ("", 0)
    return name if 2 * count > stack.layers else None


def share_in_modules(trace: Trace, unit: Unit) -> float:
    """The share of the kernel time of a step that was launched in calls of modules."""
    spans = operator_tree(trace).spans
    innermost = itself_or_around(spans["parent"], is_nn_module(spans)).gather(unit.spans)
    mean = unit.mean_ns
    return float(mean[innermost.is_not_null().to_numpy()].sum() / mean.sum()) if mean.sum() else 0.0


def _calls(unit: Unit, span: tuple[int, int], innermost: pl.Series, outwards: pl.Series) -> list[int]:
    """The calls of modules that hold most of the time of a layer."""
    spent: dict[int, float] = defaultdict(float)
    each = unit.mean_ns[slice(*span)].tolist()
    for row, time_ns in zip(unit.spans[slice(*span)], each, strict=True):
        for call in _around(row, innermost, outwards):
            spent[call] += time_ns
    return [call for call, time_ns in spent.items() if time_ns >= _OF_LAYER * sum(each)]


def _around(row: int | None, innermost: pl.Series, outwards: pl.Series) -> Iterator[int]:
    """The calls of modules that a span lies in, the innermost first."""
    call = None if row is None else innermost[row]
    while call is not None:
        yield call
        call = outwards[call]
