"""Framework operators: category -> operator -> argument shapes -> kernels, with host and GPU time, work and rates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.analysis.operators import call_sites
from rocm_perf.analysis.operators.categories import operator_category
from rocm_perf.analysis.operators.flame import flame
from rocm_perf.analysis.operators.kernels import kernel_work, sequences
from rocm_perf.analysis.operators.passes import backward_ns, passes
from rocm_perf.analysis.operators.shapes import (
    calls_with_work,
    shapes_by_operator,
    sums,
    total_work,
    work_by_operator,
)
from rocm_perf.analysis.operators.tree import OperatorTree, backward_links, has_operators, operator_tree
from rocm_perf.model.results.operators import (
    KernelSequence,
    Operator,
    OperatorCategory,
    Operators,
    OperatorShape,
)
from rocm_perf.model.torch_call import OperatorCall, arguments
from rocm_perf.model.trace import Trace

FORMULAS = {
    "operators.host_self_ns": "duration - durations of the operators directly inside it",
    "operators.gpu_self_ns": "sum of the durations of the kernels, copies and fills launched by the operator itself",
    "operators.gpu_total_ns": "gpu_self_ns of the operator and of everything inside it; calls inside a call of the "
    "same operator (of one line: with the same arguments) count once",
    "operators.tflops": "analytical FLOPs of the calls that ran on the GPU / their gpu_total_ns / 1000",
    "operators.flame.gpu_ns": "gpu_total_ns summed over the calls with the same names around them",
    "operators.unowned_ns": "total_ns - sum of gpu_self_ns over all operators",
}
NO_OPERATORS = "no framework operator was recorded (torch.profiler records them)"

SHAPES = 50  # of one operator; the others count in its totals


def _spent_ns(work: pl.DataFrame) -> int:
    return int((work["end_ns"] - work["start_ns"]).sum())


def operators(trace: Trace) -> Operators:
    """All operators of the timed pass, or why there are none."""
    total = sum(_spent_ns(work) for work in (timed_dispatches(trace), timed_copies(trace)))
    tree = operator_tree(trace) if has_operators(whole_of(trace)) else None
    if tree is None or not tree.operators.height:
        return Operators(
            categories=(),
            modules=(),
            call_sites=(),
            kernel_work=(),
            total_ns=total,
            owned_ns=0,
            unowned_ns=total,
            owned_by={},
            backward_by=None,
            unavailable=NO_OPERATORS,
        )
    rows = tree.operators
    links, linked_by = backward_links(tree)
    owned = int(rows["gpu_self_ns"].sum())
    backward = backward_ns(tree, passes(trace)) if links.height else None
    modules, sites = call_sites.modules(tree, backward), call_sites.call_sites(tree, backward)
    return Operators(
        categories=_categories(_operators(trace, tree, links, backward)),
        modules=modules,
        call_sites=sites,
        kernel_work=kernel_work(trace, tree),
        total_ns=total,
        owned_ns=owned,
        unowned_ns=total - owned,
        owned_by=dict(tree.kernels["known"].value_counts(sort=True).iter_rows()),
        backward_by=linked_by,
        flame=flame(tree),
        modules_unavailable=None if modules else call_sites.NO_MODULES,
        call_sites_unavailable=None if sites else call_sites.NO_STACKS,
    )


def operator_calls(trace: Trace) -> pl.DataFrame:
    """One row per operator call: op_id, name, shapes, dtypes, strides, inputs, gpu_ns with what is inside it; longest
    first. What `repro` chooses from."""
    columns = (
        "op_id",
        pl.col("name").cast(pl.String),
        "shapes",
        "dtypes",
        "strides",
        "inputs",
        pl.col("gpu_total_ns").alias("gpu_ns"),
    )
    calls = operator_tree(trace).operators.sort(["gpu_total_ns", "row"], descending=[True, False])
    return calls.select(*columns, "host_ns")


def operator_call(row: Mapping[str, Any]) -> OperatorCall | None:
    """A row of operator_calls as a call; None where its shapes were not recorded."""
    known = arguments(row["shapes"], row["dtypes"], row["strides"], row["inputs"])
    return None if known is None else OperatorCall(row["name"], row["op_id"], known)


def _categories(operators: Iterable[Operator]) -> tuple[OperatorCategory, ...]:
    groups: dict[str, list[Operator]] = defaultdict(list)
    for operator in operators:
        groups[operator.category].append(operator)
    rows = [
        OperatorCategory(
            name=name,
            calls=sum(operator.calls for operator in members),
            host_self_ns=sum(operator.host_self_ns for operator in members),
            gpu_self_ns=sum(operator.gpu_self_ns for operator in members),
            operators=tuple(members),
        )
        for name, members in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.gpu_self_ns, -row.host_self_ns, row.name)))


def _operators(
    trace: Trace, tree: OperatorTree, links: pl.DataFrame, spent_backward: pl.Series | None
) -> list[Operator]:
    calls = calls_with_work(trace, tree)
    shapes, common = shapes_by_operator(trace, tree, calls), sequences(tree)
    work = {row["name"]: row for row in work_by_operator(calls).iter_rows(named=True)}
    backward = {} if spent_backward is None else _backward(tree, links, spent_backward)
    table = tree.operators.group_by("name").agg(*sums(), pl.col("copy_ns").sum(), pl.col("dispatches").sum())
    ordered = table.sort(["gpu_self_ns", "host_self_ns", "name"], descending=[True, True, False])
    return [
        _operator(
            row,
            work[row["name"]],
            shapes[row["name"]],
            common.get(row["name"], ()),
            backward.get(row["name"]),
        )
        for row in ordered.iter_rows(named=True)
    ]


def _operator(
    row: Mapping[str, Any],
    work: Mapping[str, Any],
    shapes: list[OperatorShape],
    common: tuple[KernelSequence, ...],
    backward: tuple[tuple[str, ...], int] | None,
) -> Operator:
    return Operator(
        **row,
        category=operator_category(row["name"]),
        flops=total_work(work, "flops", [shape.flops for shape in shapes]),
        bytes=total_work(work, "bytes", [shape.bytes for shape in shapes]),
        backward=backward[0] if backward else (),
        backward_gpu_ns=backward[1] if backward else None,
        shapes=tuple(shapes[:SHAPES]),
        more_shapes=max(0, len(shapes) - SHAPES),
        sequences=common,
    )


def _backward(
    tree: OperatorTree, links: pl.DataFrame, spent_backward: pl.Series
) -> dict[str, tuple[tuple[str, ...], int]]:
    """For each operator the names of its backward ones, and their GPU time."""
    names = tree.spans["name"]
    pairs = links.select(name=names.gather(links["forward"]), other=names.gather(links["backward"]))
    spent = pl.DataFrame({"name": names, "ns": spent_backward}).group_by("name").agg(pl.col("ns").sum())
    table = pairs.group_by("name").agg(pl.col("other").unique().sort()).join(spent, on="name")
    return {name: (tuple(others), ns) for name, others, ns in table.iter_rows()}
