"""The calls of an operator by the shapes of their arguments: times, kernels, work and rates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.forest import is_outermost
from rocm_perf.analysis.operators.kernels import ARGUMENTS, CALL, kernels_of_shapes, recorded_calls
from rocm_perf.analysis.operators.peaks import Peaks, floating_type, peaks, short_type
from rocm_perf.analysis.operators.tree import SHAPE, OperatorTree
from rocm_perf.analysis.operators.work import operator_work
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.operators import SUM_OF, OperatorKernel, OperatorShape
from rocm_perf.model.trace import Trace

_TFLOPS = "FLOPs / gpu_total_ns / 1000"
_TBYTES = "bytes / gpu_total_ns / 1000"
_OF_ALL_CALLS = "sum over the calls of the operator; calls inside one another count once"
_IN_PART = "some of its calls have no formula or no shapes: it is more"
_WORK = {"flops": "FLOP", "bytes": "B"}  # columns, and the units of their sums
_DISTINCT = ["signature", "kernel", "step", "routed"]  # what the work of a call depends on


def sums() -> list[pl.Expr]:
    """Calls and times of a group of operators; calls inside one of the group count once in its totals."""
    outermost = pl.col("outermost")
    return [
        pl.len().alias("calls"),
        pl.col("host_self_ns").sum(),
        pl.col("host_ns").filter(outermost).sum().alias("host_total_ns"),
        pl.col("gpu_self_ns").sum(),
        pl.col("gpu_total_ns").filter(outermost).sum(),
    ]


def calls_with_work(trace: Trace, tree: OperatorTree) -> pl.DataFrame:
    """Return the recorded calls with FLOPs and bytes, worked out once for each distinct set of arguments."""
    calls = recorded_calls(trace, tree)
    distinct = calls.group_by(_DISTINCT, maintain_order=True).agg(pl.col(ARGUMENTS).first())
    works = [operator_work(*row) for row in distinct.select(CALL).iter_rows()]
    sized = distinct.select(
        *_DISTINCT,
        pl.Series("flops", [work.flops.value for work in works], dtype=pl.Float64),
        pl.Series("bytes", [work.bytes.value for work in works], dtype=pl.Float64),
    )
    return calls.join(sized, on=_DISTINCT, how="left", nulls_equal=True, maintain_order="left")


def work_by_operator(calls: pl.DataFrame) -> pl.DataFrame:
    """Return how many calls of each operator count, and of each kind of work its sum and of how many calls it is
    known."""
    known = [pl.col(column).count().alias(f"{column}_known") for column in _WORK]
    return (
        _counted(calls, "name").group_by("name").agg(pl.len().alias("counted"), pl.col(_WORK).sum(), *known)
    )


def total_work(row: Mapping[str, Any], column: str, reasons: Sequence[Quantity]) -> Quantity:
    """Return the FLOPs or bytes of all calls of an operator from its row of work_by_operator."""
    unit, known = _WORK[column], row[f"{column}_known"]
    if not known:
        return unavailable(unit, _OF_ALL_CALLS, next(one.unavailable for one in reasons if one.unavailable))
    inputs = {"calls": known, "sum": row[column]}
    return Quantity(
        row[column], unit, _OF_ALL_CALLS, inputs, doubt=None if known == row["counted"] else _IN_PART
    )


def shapes_by_operator(
    trace: Trace, tree: OperatorTree, calls: pl.DataFrame
) -> dict[str, list[OperatorShape]]:
    """For each operator the shapes of its calls, those with most time first."""
    # A call inside one of its name but of other arguments has a line, and a total, of its own.
    operators = calls.with_columns(is_outermost("shape_id").alias("outermost"))
    longest = pl.col("op_id").get(pl.col("gpu_total_ns").arg_max())
    table = (
        operators.group_by("shape_id")
        .agg(pl.col(SHAPE).first(), *sums(), longest)
        .join(_work_by_shape(operators), on="shape_id", how="left")
        .sort(
            ["gpu_total_ns", "host_self_ns", "calls", *SHAPE],
            descending=[True, True, True, False, False, False],
        )
    )
    kernels, highest = kernels_of_shapes(tree), peaks(trace)
    result: dict[str, list[OperatorShape]] = defaultdict(list)
    for row in table.iter_rows(named=True):
        result[row["name"]].append(_shape(row, kernels.get(row["shape_id"], ()), highest))
    return result


def _shape(row: Mapping[str, Any], kernels: tuple[OperatorKernel, ...], highest: Peaks) -> OperatorShape:
    work = operator_work(*(row["sample"][column] for column in CALL))
    gpu = row["gpu_total_ns"]
    tflops = _rate(work.flops, row["flops_on_gpu"], gpu, "TFLOP/s", _TFLOPS)
    tbytes = _rate(work.bytes, row["bytes_on_gpu"], gpu, "TB/s", _TBYTES)
    if tflops.value is not None:
        dtype = short_type(work.dtype) or floating_type(row["shapes"], row["dtypes"])
        tflops = replace(tflops, doubt=_doubts(highest.flops_doubt(tflops.value, dtype), tflops.doubt))
    if tbytes.value is not None:
        doubt = highest.bytes_doubt(tbytes.value, row["bytes"] / row["counted_calls"])
        tbytes = replace(tbytes, doubt=_doubts(doubt, tbytes.doubt))
    return OperatorShape(
        shapes=_compact(row["shapes"]),
        dtypes=_compact(row["dtypes"]),
        op_id=row["op_id"],
        calls=row["calls"],
        counted_calls=row["counted_calls"],
        host_self_ns=row["host_self_ns"],
        gpu_self_ns=row["gpu_self_ns"],
        gpu_total_ns=gpu,
        flops=_total(work.flops, row["flops"], row["variants"]),
        bytes=_total(work.bytes, row["bytes"], row["variants"]),
        tflops=tflops,
        tbytes=tbytes,
        kernels=kernels,
        variants=row["variants"],
    )


def _counted(calls: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the calls whose work counts: of those of one kind inside one another the outermost, or, if its work is
    not known, those inside it."""
    known = pl.col("flops").is_not_null() & pl.col("bytes").is_not_null()
    encloses = (pl.col("row").shift(-1).over(kind) < pl.col("behind")).fill_null(False)
    return calls.filter(known | ~encloses).filter(is_outermost(kind))


def _work_by_shape(calls: pl.DataFrame) -> pl.DataFrame:
    """FLOPs and bytes, summed over the calls that count."""
    distinct = (
        _counted(calls, "shape_id")
        .group_by("shape_id", *_DISTINCT, "flops", "bytes", maintain_order=True)
        .agg(
            pl.col(ARGUMENTS).first(),
            pl.len().alias("counted_calls"),
            (pl.col("gpu_total_ns") > 0).sum().alias("on_gpu"),
        )
    )

    def total(column: str, times: str) -> pl.Expr:
        known = pl.col(column).is_not_null().all()
        return pl.when(known).then((pl.col(column) * pl.col(times)).sum())

    return distinct.group_by("shape_id").agg(
        pl.col("counted_calls").sum(),
        total("flops", "counted_calls").alias("flops"),
        total("bytes", "counted_calls").alias("bytes"),
        total("flops", "on_gpu").alias("flops_on_gpu"),
        total("bytes", "on_gpu").alias("bytes_on_gpu"),
        pl.struct("flops", "bytes").n_unique().alias("variants"),
        pl.struct(CALL).sort_by("flops", "bytes", "inputs", nulls_last=False).first().alias("sample"),
    )


def _total(one: Quantity, total: float | None, variants: int) -> Quantity:
    """The total over all calls; the formula is that of one of them, of which the work is least."""
    if total is None:
        return one if not one.known else unavailable(one.unit, one.formula, "not known for every call")
    of_which = f"{variants} kinds, the least being " if variants > 1 else ""
    return Quantity(total, one.unit, f"{SUM_OF}{of_which}{one.formula}", doubt=one.doubt)


def _rate(one: Quantity, total: float | None, gpu_ns: int, unit: str, formula: str) -> Quantity:
    if total is None:
        return unavailable(unit, formula, one.unavailable or "the work is not known for every call")
    if not gpu_ns:
        return unavailable(unit, formula, "no GPU time is recorded for it")
    return Quantity(
        value=total / gpu_ns / 1000,
        unit=unit,
        formula=formula,
        inputs={"work": total, "gpu_total_ns": gpu_ns},
        doubt=one.doubt,
    )


def _doubts(*doubts: str | None) -> str | None:
    return "; ".join(doubt for doubt in doubts if doubt) or None


def _compact(text: str | None) -> str | None:
    """JSON without the white space that some files are full of."""
    if text is None:
        return None
    try:
        return msgspec.json.encode(msgspec.json.decode(text)).decode()
    except msgspec.DecodeError:
        return text
