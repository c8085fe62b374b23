"""The layers that take most of the time that is judged, whether they are known as modules or by repetition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rocm_perf.analysis.layers.build import layers
from rocm_perf.analysis.layers.modules import ModuleLayers, module_layers
from rocm_perf.analysis.modules.build import modules
from rocm_perf.model.results.layers import LargestLayers, Layers
from rocm_perf.model.results.modules import Modules
from rocm_perf.model.trace import Trace

_SPENT = {"gpu": "the GPU time", "host": "the host time of operators"}


def largest_layers(trace: Trace) -> LargestLayers | None:
    """Of all layers in all kinds of steps those with most time; None where no layers are known."""
    recorded = modules(trace)
    found = [
        *_by_repetition(layers(trace)),
        *(_of_modules(group, recorded) for group in module_layers(recorded)),
    ]
    return max(found, key=lambda one: one.total_ns, default=None)


def _by_repetition(known: Layers) -> Iterator[LargestLayers]:
    for work in known.rows:
        for stack in work.stacks:
            yield LargestLayers(
                layers=stack.layers,
                alike=stack.layers,
                times=stack.times,
                modules=None,
                median_ns=stack.median_ns,
                total_ns=stack.total_ns * work.alike,
                share=stack.share,
                share_of=f"a {work.name}",
                owners=stack.owners(),
            )


def _of_modules(group: ModuleLayers, recorded: Modules) -> LargestLayers:
    total = sum(line.total_ns for line in group.lines)
    return LargestLayers(
        layers=group.layers,
        alike=group.alike.modules,
        times=1,
        modules=group.name,
        median_ns=_of_a_call(group),
        total_ns=total,
        share=group.share,
        share_of=_SPENT[recorded.measured],
        owners=_owners(group, recorded, total),
    )


def _of_a_call(group: ModuleLayers) -> float:
    """The median over the modules of the mean over the calls of each."""
    line = group.alike
    each_ns = line.spread.median_ns if line.spread else line.total_ns / line.modules
    calls = line.calls / line.modules
    return each_ns / max(calls, 1)


def _owners(group: ModuleLayers, recorded: Modules, total_ns: int) -> dict[str, float]:
    """The share of each operator in the time of the layers; lines stand behind those around them."""
    shares: dict[str, float] = defaultdict(float)
    inside = {place for place, line in enumerate(recorded.lines) if any(line is one for one in group.lines)}
    for place, line in enumerate(recorded.lines):
        if line.parent in inside:
            inside.add(place)
        if place in inside:
            for operator in line.operators:
                shares[operator.name or "no operator"] += operator.total_ns / (total_ns or 1)
    return dict(shares)
