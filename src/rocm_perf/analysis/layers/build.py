"""The layers of a model: named by the recorded modules where there are any, else by what repeats in a step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.layers.modules import INSIDE, LEAST_SHARE, module_layers
from rocm_perf.analysis.layers.order import LayerWork, kinds_of, order_of
from rocm_perf.analysis.layers.recorded import recorded_modules, share_in_modules
from rocm_perf.analysis.layers.repetition import Stack, stacks
from rocm_perf.analysis.layers.units import LONGEST, Unit, graph_units, step_units
from rocm_perf.analysis.modules.build import modules
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.results.layers import EqualModules, LayeredWork, Layers, LayerStack, OutsideKernel
from rocm_perf.model.trace import Trace

FORMULAS = {
    "layers.each_ns": "sum of the durations of the kernels of a layer, the median over the steps that run the same "
    "kernels; of all layers the median, the least and the most",
    "layers.kernel_ns": "duration of the kernel at its place in a layer, the median over the layers that run it",
    "layers.total_ns": "durations of the kernels of all layers of a step, the mean over the steps that run the same "
    "kernels",
    "layers.outside_ns": "durations of the kernels of a step that are in no layer, on the stream of most of the work, "
    "the mean over these steps",
}
_ROWS = 4  # kinds of step, those with most time
_OUTSIDE = 12  # kernels outside of layers
_RECORDED = 0.2  # of a step in modules: more, and they say what its layers are; a head alone may be recorded
_HARDLY = 0.05  # of all time outside of modules: no step is without them
# Each layer of a model has one of each: loops over experts or time steps have products alone, loops over blocks of
# keys attention alone. A convolution is both.
_ESSENTIAL = ("attention", "softmax", "normalisation", "convolution")
_PRODUCTS = ("gemm", "convolution")
_NOTHING = "no kernels with times were recorded"
_NO_STEPS = "no step and no graph replay was found in which kernels could repeat"
_TOO_LONG = f"every step has more than {LONGEST:,} kernels: record steps of less work"
_NO_LAYERS = (
    "no kernels repeat in a step as layers would: the same at least three times, for half of its time, a matrix "
    "product and attention, a norm or a convolution among them"
)


@once_per_trace
def layers(trace: Trace) -> Layers:
    """The layers of the timed pass: how they are called where modules are recorded for them, else what repeats."""
    recorded = modules(trace)
    named = tuple(
        EqualModules(group.name, group.layers, group.alike.modules) for group in module_layers(recorded)
    )
    if not named:
        return layers_by_repetition(trace)
    if recorded.outside_ns <= _HARDLY * recorded.total_ns:
        return Layers(known_by="modules", rows=(), modules=named)
    rows = tuple(row for row in layers_by_repetition(trace).rows if row.in_modules < _RECORDED)
    return Layers(known_by="both" if rows else "modules", rows=rows, modules=named)


def layers_by_repetition(trace: Trace) -> Layers:
    """The layers that repeat within the steps of the program, or else within its graphs."""
    everything = timed_dispatches(trace)
    if not everything.height:
        return Layers(known_by=None, rows=(), unavailable=_NOTHING)
    total = int((everything["end_ns"] - everything["start_ns"]).sum())
    found: list[Unit] = []
    for units in (step_units, graph_units):
        of_kind = units(trace)
        found += of_kind
        tried = [unit for unit in of_kind if len(unit.kernels) <= LONGEST][:_ROWS]
        rows = [row for unit in tried if (row := _layered(trace, unit, total)).stacks]
        if rows:
            return Layers(known_by="repetition", rows=tuple(rows))
    return Layers(known_by=None, rows=(), unavailable=_why_none(found))


def _why_none(found: Sequence[Unit]) -> str:
    if not found:
        return _NO_STEPS
    return _NO_LAYERS if any(len(unit.kernels) <= LONGEST for unit in found) else _TOO_LONG


def _layered(trace: Trace, unit: Unit, total_ns: int) -> LayeredWork:
    """The layers of one kind of step; none where they are not what it is made of."""
    mean, operators = unit.mean_ns, _operators(trace, unit.owners)
    spent = float(mean.sum()) + unit.beside_ns
    groups = _groups(unit, spent)
    outside = _places_outside(unit, groups)
    return LayeredWork(
        name=unit.name,
        steps=unit.steps,
        alike=len(unit.times),
        kernels=len(unit.kernels),
        total_ns=spent,
        share=spent * len(unit.times) / total_ns if total_ns else 0.0,
        in_modules=share_in_modules(trace, unit),
        stacks=tuple(
            _stack(group, unit, operators, recorded_modules(trace, unit, group[0]), spent) for group in groups
        ),
        outside=_outside(unit, outside, operators),
        outside_ns=float(mean[outside].sum()),
        beside_ns=unit.beside_ns,
    )


def _groups(unit: Unit, spent: float) -> list[list[Stack]]:
    """The stacks that the step is made of, those that run the same kernels together; none where they are less than half
    of it, or where it takes no time, as times in whole microseconds may say."""
    if not spent:
        return []
    found = stacks(unit.codes, unit.mean_ns.tolist(), _of_families(unit, _ESSENTIAL))
    groups = [group for group in _equal_stacks(found, unit.codes) if _is_of_a_model(group[0], unit)]
    large = [group for group in groups if _time_of(group, unit) >= LEAST_SHARE * spent]
    return large if sum(_time_of(group, unit) for group in large) >= INSIDE * spent else []


def _places_outside(unit: Unit, groups: Sequence[Sequence[Stack]]) -> list[int]:
    """The places of the kernels that are in no layer."""
    inside = np.zeros(len(unit.kernels), bool)
    for group in groups:
        for stack in group:
            inside[stack.borders[0] : stack.borders[-1]] = True
    places: list[int] = np.flatnonzero(~inside).tolist()
    return places


def _equal_stacks(found: Sequence[Stack], codes: tuple[int, ...]) -> list[list[Stack]]:
    """Stacks that run the same kernels: a model that is called several times in a step."""
    groups: dict[object, list[Stack]] = defaultdict(list)
    for stack in found:
        groups[tuple(stack.contents(codes))].append(stack)
    return list(groups.values())


def _time_of(group: Sequence[Stack], unit: Unit) -> float:
    return sum(float(unit.mean_ns[stack.borders[0] : stack.borders[-1]].sum()) for stack in group)


def _of_families(unit: Unit, families: Collection[str]) -> frozenset[int]:
    """The numbers of the kernels of these families."""
    names = dict(zip(unit.codes, unit.kernels, strict=True))
    return frozenset(code for code, name in names.items() if family(name).name in families)


def _is_of_a_model(stack: Stack, unit: Unit) -> bool:
    """Whether the layers multiply matrices, and do not do only that."""
    inside = frozenset(unit.codes[stack.borders[0] : stack.borders[-1]])
    return all(inside & _of_families(unit, families) for families in (_ESSENTIAL, _PRODUCTS))


def _operators(trace: Trace, owners: pl.Series) -> pl.DataFrame:
    """The name and shapes of the operator of each kernel, null where none is known."""
    known = operator_tree(trace).operators.select(
        owner="row", operator=pl.col("name").cast(pl.String), shapes="shapes"
    )
    return owners.alias("owner").to_frame().join(known, on="owner", how="left", maintain_order="left")


def _stack(
    group: Sequence[Stack], unit: Unit, operators: pl.DataFrame, modules: str | None, spent: float
) -> LayerStack:
    """Layers that run the same kernels wherever they come in a step."""
    work = LayerWork(unit=unit, operators=operators, stacks=tuple(group))
    times = work.layer_ns
    sizes = Counter(end - start for start, end in pairwise(group[0].borders))
    return LayerStack(
        layers=group[0].layers,
        modules=modules,
        times=len(group),
        kernels=sizes.most_common(1)[0][0],
        first=group[0].borders[0] + 1,
        median_ns=float(np.median(times)),
        least_ns=float(times.min()),
        most_ns=float(times.max()),
        longest=int(times.max(axis=0).argmax()),
        total_ns=work.total_ns,
        share=work.total_ns / spent if spent else 0.0,
        kinds=kinds_of(work),
        order=order_of(work),
    )


def _outside(unit: Unit, places: Sequence[int], operators: pl.DataFrame) -> tuple[OutsideKernel, ...]:
    """The kernels in no layer, by name and operator, the longest first."""
    groups: dict[tuple[str, str | None], list[float]] = defaultdict(list)
    for place in places:
        groups[unit.kernels[place], operators["operator"][place]].append(float(unit.mean_ns[place]))
    rows = sorted(groups.items(), key=lambda item: -sum(item[1]))
    return tuple(_outside_rows(rows[:_OUTSIDE]))


def _outside_rows(rows: Sequence[tuple[tuple[str, str | None], list[float]]]) -> Iterator[OutsideKernel]:
    for (kernel, operator), times in rows:
        yield OutsideKernel(
            kernel=kernel,
            short_name=short_name(kernel),
            operator=operator,
            calls=len(times),
            total_ns=sum(times),
        )
