"""Framework operators as a tree, the lines of Python that called them, and how far the host runs ahead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.operators import (
    KernelSequence,
    Operator,
    Operators,
    OperatorShape,
    Place,
    QueueLength,
)
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    doubts,
    explained,
    grids,
    known,
    number,
    rate,
    share,
    spark,
    time,
)
from rocm_perf.units import format_count, format_ns

_LEAST_SHARE = 0.01  # of the whole: smaller lines are left out of the tree
_SHAPES, _KERNELS = 3, 3  # of each operator, of each shape


@dataclass(frozen=True)
class _Node:
    """One line of the tree."""

    depth: int
    name: str
    gpu_ns: int
    host_ns: int | None = None
    calls: int | None = None
    tflops: Quantity | None = None
    tbytes: Quantity | None = None
    op_id: int | None = None
    roof: Quantity | None = None  # of a kernel: percent of its roof, over all its dispatches


# How these numbers differ from those of tools that count kernels alone.
WHAT_COUNTS = (
    "GPU time of an operator is that of kernels, copies and fills; calls include those that launched nothing"
)

Roofs = Mapping[str, Quantity]

_TREE_COLUMNS: Columns[_Node] = (
    explained("GPU", time, lambda row: row.gpu_ns, "operators.gpu_self_ns"),
    explained("host", time, lambda row: row.host_ns, "operators.host_self_ns"),
    explained(
        "calls",
        count,
        lambda row: row.calls,
        "calls of the operator with these shapes, also those that launched nothing",
    ),
    explained("TFLOP/s", rate, lambda row: row.tflops),
    explained("TB/s", rate, lambda row: row.tbytes),
    explained("% of roof", rate, lambda row: row.roof),
    number("op", lambda row: "" if row.op_id is None else str(row.op_id)),
    code("operator", lambda row: "  " * row.depth + row.name),
)
_PLACE_COLUMNS: Columns[Place] = (
    explained(
        "GPU",
        time,
        lambda row: row.gpu_ns,
        "sum of the durations of kernels, copies and fills launched below it",
    ),
    explained(
        "backward", time, lambda row: row.backward_gpu_ns, "the same, of the backward operators linked to it"
    ),
    explained("host", time, lambda row: row.host_ns, "sum over its calls of their duration on the host"),
    explained("calls", count, lambda row: row.calls, "calls of the line"),
    explained("kernels", count, lambda row: row.dispatches, "kernels launched below it"),
    code("name", lambda row: row.name),
)
_SEQUENCE_COLUMNS: Columns[tuple[str, KernelSequence]] = (
    explained(
        "GPU", time, lambda row: row[1].gpu_ns, "sum of the durations of these kernels, over all calls"
    ),
    explained(
        "calls", count, lambda row: row[1].calls, "calls that launched exactly these kernels, in this order"
    ),
    code("operator", lambda row: row[0]),
    code("kernels of one call", lambda row: _sequence(row[1])),
)


def operators_section(document: Document, top: int) -> Section:
    """The tree: category, operator, argument shapes, kernels. The times of a line exclude what it calls."""
    operators = document.operators
    if operators.unavailable:
        return Section("Operators", unavailable=operators.unavailable)
    return Section(
        "Operators",
        lines=tuple(_lines(operators, document.queue_lengths)),
        grids=(
            *grids(
                "Category, operator, shapes, kernels",
                list(
                    _tree(operators, {row.kernel: row.percent_of_roof for row in document.roofline.kernels})
                ),
                _TREE_COLUMNS,
            ),
            *grids("Lines of Python", operators.call_sites, _PLACE_COLUMNS, top),
            *grids("Most frequent sequences of kernels", _sequences(operators), _SEQUENCE_COLUMNS, top),
        ),
        notes=(*_doubts(operators), *_notes(operators)),
    )


def _tree(operators: Operators, roofs: Roofs) -> Iterator[_Node]:
    on_gpu = operators.owned_ns > 0
    least = _LEAST_SHARE * (
        operators.owned_ns if on_gpu else sum(row.host_self_ns for row in operators.categories)
    )
    for category in operators.categories:
        if (category.gpu_self_ns if on_gpu else category.host_self_ns) < least:
            continue
        yield _Node(0, category.name, category.gpu_self_ns, category.host_self_ns, category.calls)
        for operator in category.operators:
            if (operator.gpu_self_ns if on_gpu else operator.host_self_ns) >= least:
                yield from _operator(operator, least, roofs)


def _operator(operator: Operator, least: float, roofs: Roofs) -> Iterator[_Node]:
    yield _Node(1, operator.name, operator.gpu_self_ns, operator.host_self_ns, operator.calls)
    for shape in operator.shapes[:_SHAPES]:
        if shape.gpu_self_ns >= least:
            yield from _shape(shape, roofs)


def _shape(shape: OperatorShape, roofs: Roofs) -> Iterator[_Node]:
    name = shape.shapes or "shapes not recorded"
    yield _Node(
        2,
        name,
        shape.gpu_self_ns,
        shape.host_self_ns,
        shape.calls,
        shape.tflops,
        shape.tbytes,
        shape.op_id,
    )
    for kernel in shape.kernels[:_KERNELS]:
        yield _Node(
            3, kernel.short_name, kernel.gpu_ns, calls=kernel.dispatches, roof=roofs.get(kernel.kernel)
        )


def _lines(operators: Operators, queues: tuple[QueueLength, ...]) -> Iterator[str]:
    if operators.total_ns:
        yield (
            f"Operators own {format_ns(operators.owned_ns)} of {format_ns(operators.total_ns)} GPU time "
            f"({share(operators.owned_ns / operators.total_ns)})."
        )
    for queue in queues[:2]:
        yield (
            f"Work launched and waiting on stream {known(queue.stream_id)}: at most {queue.longest:,}, mean "
            f"{rate(queue.mean)}; for {share(queue.starved)} of the time the GPU waits for the host."
        )
        if queue.longest > 0:
            yield spark(queue.series)


def _sequences(operators: Operators) -> list[tuple[str, KernelSequence]]:
    sequences = [
        (operator.name, sequence)
        for category in operators.categories
        for operator in category.operators
        for sequence in operator.sequences
        if len(sequence.kernels) > 1 and operator.dispatches
    ]
    return sorted(sequences, key=lambda row: -row[1].gpu_ns)


def _sequence(sequence: KernelSequence) -> str:
    more = f" and {sequence.more} more" if sequence.more else ""
    return " > ".join(sequence.kernels) + more


def _doubts(operators: Operators) -> tuple[str, ...]:
    """What the question marks in the tree mean."""
    tree = _tree(operators, {})
    return doubts(rate for node in tree for rate in (node.tflops, node.tbytes) if rate is not None)


def _notes(operators: Operators) -> Iterator[str]:
    shapes = [
        shape for category in operators.categories for row in category.operators for shape in row.shapes
    ]
    if any(shape.variants > 1 and shape.tflops.known for shape in shapes):
        yield "calls of one line have the same shapes and types; with other scalars or strides the rates are means"
    yield WHAT_COUNTS
    yield f"lines below {share(_LEAST_SHARE)} of the whole are left out; `rocm-perf repro PATH --op ID` repeats a call"
    for how, dispatches in operators.owned_by.items():
        yield f"{format_count(dispatches, 'kernel')}: {how}"
    if operators.backward_by:
        yield f"backward operators are linked by {operators.backward_by}"
    if operators.modules:
        yield "--show modules shows them by module"
    if operators.call_sites_unavailable:
        yield f"no lines of Python: {operators.call_sites_unavailable}"
