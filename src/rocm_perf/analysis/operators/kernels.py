"""The kernels of operators: by argument shapes, in the order one call launches them, and with analytical work."""

from __future__ import annotations

from collections import defaultdict

import polars as pl

from rocm_perf.analysis.basis.keys import joined
from rocm_perf.analysis.basis.names import short_name, short_names
from rocm_perf.analysis.operators.routed import with_routed
from rocm_perf.analysis.operators.serving_steps import PROCESS, with_step
from rocm_perf.analysis.operators.tree import OperatorTree
from rocm_perf.analysis.operators.work import operator_work
from rocm_perf.model.results.operators import KernelSequence, KernelWork, OperatorKernel
from rocm_perf.model.trace import Trace

KERNELS = 10  # of one operator and shape
SEQUENCES = 5  # of one operator
SEQUENCE_LENGTH = 20

ARGUMENTS = ["name", "shapes", "dtypes", "inputs", "strides"]  # what a signature stands for
_BESIDE = ["kernel", "step"]  # what is recorded beside them
CALL = [*ARGUMENTS, *_BESIDE, "routed"]  # what the work of a call follows from
_ALIKE = ["signature", *_BESIDE]  # of one that launched one kernel, in fewer columns


def kernels_of_shapes(tree: OperatorTree) -> dict[int, tuple[OperatorKernel, ...]]:
    """For each shape_id, the kernels that its calls launched themselves, longest first."""
    table = (
        _with_owner(tree, ["shape_id"])
        .group_by("shape_id", "kernel")
        .agg(pl.len().alias("dispatches"), pl.col("gpu_ns").sum())
        .sort(["gpu_ns", "kernel"], descending=[True, False])
        .group_by("shape_id", maintain_order=True)
        .head(KERNELS)
    )
    kernels_of: dict[int, list[OperatorKernel]] = defaultdict(list)
    for place, kernel, dispatches, gpu_ns in table.select(
        "shape_id", "kernel", "dispatches", "gpu_ns"
    ).iter_rows():
        kernels_of[place].append(
            OperatorKernel(kernel=kernel, short_name=short_name(kernel), dispatches=dispatches, gpu_ns=gpu_ns)
        )
    return {place: tuple(kernels) for place, kernels in kernels_of.items()}


def _with_owner(tree: OperatorTree, columns: list[str]) -> pl.DataFrame:
    """The kernels that an operator launched, with columns of that."""
    owned = tree.kernels.select(*PROCESS, "kernel", "gpu_ns", "launch_ns", "owner").drop_nulls("owner")
    owners = tree.operators["row"].search_sorted(owned["owner"])
    return owned.with_columns(*tree.operators.select(columns)[owners])


def recorded_calls(trace: Trace, tree: OperatorTree) -> pl.DataFrame:
    """The operators, each with the first kernel that it launched itself, the range of the serving step around it, and
    what its launches say of experts."""
    launched = tree.kernels.drop_nulls("owner").sort("start_ns", maintain_order=True)
    first = launched.group_by(pl.col("owner").alias("row")).agg(pl.col("kernel").first())
    operators = tree.operators.join(first, on="row", how="left", maintain_order="left")
    return with_routed(tree, with_step(trace, operators, "start_ns"))


def sequences(tree: OperatorTree) -> dict[str, tuple[KernelSequence, ...]]:
    """What one call launches, by operator: of an outermost operator with all inside it, of an inner one by itself."""
    owned = tree.kernels.select("kernel", "start_ns", "gpu_ns", "owner").drop_nulls("owner")
    if not owned.height:
        return {}
    short = short_names(owned["kernel"])
    names = short.unique().sort()
    codes = pl.Series([str(number) for number in range(len(names))], dtype=pl.String)
    owners = tree.operators["row"].search_sorted(owned["owner"])
    coded = owned.select(
        "owner",
        "start_ns",
        "gpu_ns",
        root=_roots(tree).gather(owners),
        code=short.replace_strict(names, codes),
    )
    inner = coded.filter(pl.col("owner") != pl.col("root"))
    calls = pl.concat(
        [coded.with_columns(call=pl.col("root")), inner.with_columns(call=pl.col("owner"))]
    ).sort("start_ns", maintain_order=True)
    codes_of_calls = joined(calls, "call", "code", " ").rename({"code": "codes"})
    launched = codes_of_calls.join(calls.group_by("call").agg(pl.col("gpu_ns").sum()), on="call")
    launched = launched.with_columns(tree.spans["name"].gather(launched["call"]).alias("name"))
    return _most_frequent(launched, names)


def _most_frequent(launched: pl.DataFrame, names: pl.Series) -> dict[str, tuple[KernelSequence, ...]]:
    table = (
        launched.group_by("name", "codes")
        .agg(pl.len().alias("calls"), pl.col("gpu_ns").sum())
        .sort(["calls", "gpu_ns", "codes"], descending=[True, True, False])
        .group_by("name", maintain_order=True)
        .head(SEQUENCES)
    )
    by_operator: dict[str, list[KernelSequence]] = defaultdict(list)
    for name, codes, calls, gpu_ns in table.select("name", "codes", "calls", "gpu_ns").iter_rows():
        numbers = [int(code) for code in codes.split(" ")]
        shown = tuple(names[number] for number in numbers[:SEQUENCE_LENGTH])
        by_operator[name].append(
            KernelSequence(kernels=shown, more=len(numbers) - len(shown), calls=calls, gpu_ns=gpu_ns)
        )
    return {name: tuple(rows) for name, rows in by_operator.items()}


def _roots(tree: OperatorTree) -> pl.Series:
    """For each operator the outermost operator around it, or itself."""
    outermost = pl.when(pl.col("operator").is_null()).then("row")
    return tree.operators.select(outermost.forward_fill()).to_series()


def kernel_work(trace: Trace, tree: OperatorTree) -> tuple[KernelWork, ...]:
    """Analytical work by kernel. The work of an operator that launched several kernels cannot be divided among them,
    so only kernels that are their operator's only one carry it."""
    owned = with_step(trace, _with_owner(tree, ["signature", "name", "dispatches"]), "launch_ns")
    arguments = tree.operators.select("signature", *ARGUMENTS).unique("signature")
    distinct = owned.filter(pl.col("dispatches") == 1).select(_ALIKE).unique().join(arguments, on="signature")
    works = [operator_work(*row) for row in distinct.select(*ARGUMENTS, *_BESIDE).iter_rows()]
    sized = distinct.with_columns(
        pl.Series("flops", [work.flops.value for work in works], dtype=pl.Int64),
        pl.Series("bytes", [work.bytes.value for work in works], dtype=pl.Int64),
    )
    alone = pl.col("dispatches") == 1
    sizes = sized.select(*_ALIKE, "flops", "bytes")
    placed = owned.join(sizes, on=_ALIKE, how="left", nulls_equal=True)
    known = alone & pl.col("flops").is_not_null() & pl.col("bytes").is_not_null()
    table = placed.group_by("kernel").agg(
        known.sum().alias("dispatches"),
        pl.col("gpu_ns").filter(known).sum(),
        pl.col("flops").filter(known).sum(),
        pl.col("bytes").filter(known).sum(),
        pl.col("name").filter(known).unique().sort().alias("operators"),
        (~known).sum().alias("left_out"),
    )
    rows = table.filter(pl.col("dispatches") > 0).sort(["gpu_ns", "kernel"], descending=[True, False])
    return tuple(
        KernelWork(**{**row, "operators": tuple(row["operators"])}) for row in rows.iter_rows(named=True)
    )
