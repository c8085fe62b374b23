"""The layers that repetition shows: how many, how long each takes, how they differ, and what they run in its order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rocm_perf.model.document import Document
from rocm_perf.model.results.layers import (
    EqualModules,
    LargestLayers,
    LayeredWork,
    LayerKernel,
    LayerKind,
    Layers,
    LayerStack,
    OutsideKernel,
)
from rocm_perf.render.sections.section import (
    Columns,
    Grid,
    code,
    count,
    explained,
    grids,
    share,
    text,
    time,
)
from rocm_perf.render.sections.shapes import argument_sizes
from rocm_perf.units import format_list, format_ns, format_share

_NAMES = 3
_NUMBERS = 4
_ORDER = 24  # kernels of a layer that are listed


@dataclass(frozen=True)
class _Placed:
    """A stack with the work that it is part of."""

    work: LayeredWork
    stack: LayerStack


_STACK_COLUMNS: Columns[_Placed] = (
    explained("each", time, lambda row: row.stack.median_ns, "layers.each_ns"),
    explained("least", time, lambda row: row.stack.least_ns, "layers.each_ns"),
    explained("most", time, lambda row: row.stack.most_ns, "layers.each_ns"),
    explained("longest", count, lambda row: row.stack.longest, "the number of the longest layer, from 0"),
    explained("all", time, lambda row: row.stack.total_ns, "layers.total_ns"),
    explained("share", share, lambda row: row.stack.share, "layers.total_ns / kernel time of the step"),
    explained("kernels", count, lambda row: row.stack.kernels, "kernels of a layer, as most have"),
    text("layers", lambda row: _times(row.stack)),
    text("in", lambda row: row.work.name),
    text("recorded as", lambda row: row.stack.modules or "-"),
)
_KIND_COLUMNS: Columns[LayerKind] = (
    explained("each", time, lambda row: row.median_ns, "layers.each_ns"),
    explained("kernels", count, lambda row: row.kernels, "kernels of such a layer"),
    explained("layers", count, lambda row: len(row.numbers), "layers that run the same kernels"),
    text("which", lambda row: _numbers(row.numbers)),
    text("unlike most others", lambda row: "; ".join(_differences(row)) or "-"),
)
_ORDER_COLUMNS: Columns[LayerKernel] = (
    explained("each", time, lambda row: row.each_ns, "layers.kernel_ns"),
    explained("share", share, lambda row: row.share, "its time in all layers / time of the layers"),
    explained("layers", count, lambda row: row.layers, "layers that run it at this place"),
    code("operator", lambda row: row.operator or "-"),
    code("kernel", lambda row: row.short_name, lambda row: row.kernel),
)
_OUTSIDE_COLUMNS: Columns[OutsideKernel] = (
    explained("time", time, lambda row: row.total_ns, "layers.outside_ns"),
    explained("calls", count, lambda row: row.calls, "dispatches of one step"),
    code("operator", lambda row: row.operator or "-"),
    code("kernel", lambda row: row.short_name, lambda row: row.kernel),
)


def layer_line(document: Document) -> str:
    """The layers with most of the time that is judged in a few numbers, for the first screen: how long one takes, and
    what takes most of it; nothing where none are known."""
    largest = document.largest_layers
    if largest is None:
        return ""
    whole = largest.share_of if largest.modules else f"the kernel time of {largest.share_of}"
    number = _number(largest) if largest.modules else f"{_number(largest)} layers"
    return (
        f"{number} of {format_ns(largest.median_ns)} each, {format_share(largest.share)} of {whole}: "
        f"{_most(largest.owners)}"
    )


def _number(largest: LargestLayers) -> str:
    """How many, and of which class: `36 x Qwen3DecoderLayer`."""
    if largest.modules is None:
        return _times(largest)
    return _modules(EqualModules(largest.modules, largest.layers, largest.alike))


def _modules(equal: EqualModules) -> str:
    alike = f" ({equal.alike:,} alike)" if equal.alike != equal.modules else ""
    return f"{equal.modules:,} x {equal.name}{alike}"


def layer_lines(layers: Layers) -> Iterator[str]:
    """How layers are known, and what each kind of step has of them."""
    if layers.modules:
        recorded = ", ".join(map(_modules, layers.modules))
        yield f"The layers are recorded as modules: {recorded}."
    if layers.rows:
        others = "Those of other steps" if layers.modules else "Layers"
        yield f"{others} are known by repetition{_why(layers)}."
        for work in layers.rows:
            yield _summary(work)
            yield from map(_owners, work.stacks)


def layer_grids(layers: Layers, top: int) -> Iterator[Grid]:
    """The stacks of layers, and of each the kinds of its layers, what they run, and what is in none."""
    placed = [_Placed(work, stack) for work in layers.rows for stack in work.stacks]
    yield from grids("Layers, by repetition", placed, _STACK_COLUMNS, top)
    for one in placed:
        name = _named(one, several=len(placed) > 1)
        if len(one.stack.kinds) > 1:
            yield from grids(f"Kinds of layers{name}", one.stack.kinds, _KIND_COLUMNS, top)
        order = _longest_in_order(one.stack.order)
        some = f": the {len(order)} kernels with most time" if len(order) < len(one.stack.order) else ""
        title = f"A layer{name}, in its order{some}"
        yield from grids(title, order, (*_ORDER_COLUMNS, *_telling(order)))
    for work in layers.rows:
        where = f" of a {work.name}" if len(layers.rows) > 1 else ""
        yield from grids(f"Outside of the layers{where}", work.outside, _OUTSIDE_COLUMNS, top)


def layer_notes(layers: Layers) -> Iterator[str]:
    """What a reader of these tables has to know."""
    if layers.unavailable:
        yield f"no layers: {layers.unavailable}"
    if layers.rows:
        yield (
            "layers by repetition begin where most of them are equal: that may be a kernel before or behind the line "
            "of the model's code where a layer begins"
        )
    if any(work.beside_ns for work in layers.rows):
        yield "kernels on other streams than most of the work are in no layer"


def _why(layers: Layers) -> str:
    some = any(stack.modules for work in layers.rows for stack in work.stacks)
    return (
        " of their kernels"
        if some
        else ": no module is recorded for them, but their kernels come again and again"
    )


def _summary(work: LayeredWork) -> str:
    """What of a step its layers are."""
    inside = sum(stack.total_ns for stack in work.stacks)
    stacks = format_list([f"{_times(stack)} layers" for stack in work.stacks], _NAMES)
    alike = f" ({work.alike:,} of {work.steps:,} run the same kernels)" if work.steps > 1 else ""
    beside = f", {format_ns(work.beside_ns)} on other streams" if work.beside_ns else ""
    return (
        f"A {work.name}{alike}: {stacks} take {format_ns(inside)} of {format_ns(work.total_ns)} kernel time "
        f"({format_share(inside / work.total_ns)}); {format_ns(work.outside_ns)} are outside of them{beside}."
    )


def _owners(stack: LayerStack) -> str:
    """What takes most of the time of the layers: operators, or kernels where those are not known."""
    return f"The {_times(stack)} layers take {format_ns(stack.median_ns)} each: {_most(stack.owners())}."


def _most(shares: Mapping[str, float]) -> str:
    """The largest of them."""
    most = sorted(shares.items(), key=lambda item: -item[1])[:_NAMES]
    return ", ".join(f"{name} {format_share(part)}" for name, part in most)


def _longest_in_order(order: tuple[LayerKernel, ...]) -> tuple[LayerKernel, ...]:
    """The kernels of a layer, of a long one those with most time."""
    longest = sorted(range(len(order)), key=lambda place: -order[place].total_ns)[:_ORDER]
    return tuple(order[place] for place in sorted(longest))


def _times(stack: LayerStack | LargestLayers) -> str:
    """How many layers: `24`, or `4 x 38` where the stack comes four times."""
    return f"{stack.layers:,}" if stack.times == 1 else f"{stack.times:,} x {stack.layers:,}"


def _named(one: _Placed, *, several: bool) -> str:
    """Which layers, where there are others."""
    return f" of the {_times(one.stack)} in a {one.work.name}" if several else ""


def _numbers(numbers: tuple[int, ...]) -> str:
    """The first numbers, and how many more there are."""
    more = f", ... {numbers[-1]}" if len(numbers) > _NUMBERS else ""
    return ", ".join(map(str, numbers[:_NUMBERS])) + more


def _differences(kind: LayerKind) -> Iterator[str]:
    for word, names in (("runs", kind.own), ("lacks", kind.lacks)):
        if names:
            yield f"{word} {format_list(list(dict.fromkeys(names)), _NAMES)}"


def _telling(order: tuple[LayerKernel, ...]) -> Columns[LayerKernel]:
    """The shapes of operators, where kernels with the same short name are told apart by nothing else."""
    names = Counter(kernel.short_name for kernel in order)
    if not any(names[kernel.short_name] > 1 and kernel.shapes for kernel in order):
        return ()
    return (text("shapes", lambda row: argument_sizes(row.shapes) if names[row.short_name] > 1 else ""),)
