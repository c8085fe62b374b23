"""The calls of an operator by the shapes of their arguments: times, kernels, work and rates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
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


def shapes_by_operator(trace: Trace, tree: OperatorTree) -> dict[str, list[OperatorShape]]:
    """For each operator the shapes of its calls, those with most time first."""
    # A call inside one of its name but of other arguments has a line, and a total, of its own.
    operators = recorded_calls(trace, tree).with_columns(is_outermost("shape_id").alias("outermost"))
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
        doubt = highest.bytes_doubt(tbytes.value, row["bytes"] / row["calls"])
        tbytes = replace(tbytes, doubt=_doubts(doubt, tbytes.doubt))
    return OperatorShape(
        shapes=_compact(row["shapes"]),
        dtypes=_compact(row["dtypes"]),
        op_id=row["op_id"],
        calls=row["calls"],
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


def _work_by_shape(operators: pl.DataFrame) -> pl.DataFrame:
    """FLOPs and bytes, summed over calls; worked out once for each distinct set of arguments."""
    on_gpu = pl.col("outermost") & (pl.col("gpu_total_ns") > 0)
    distinct = operators.group_by("signature", "kernel", "step", "routed", maintain_order=True).agg(
        pl.col("shape_id", *ARGUMENTS).first(), pl.len().alias("calls"), on_gpu.sum().alias("on_gpu")
    )
    works = [operator_work(*row) for row in distinct.select(CALL).iter_rows()]
    sized = distinct.with_columns(
        pl.Series("flops", [work.flops.value for work in works], dtype=pl.Float64),
        pl.Series("bytes", [work.bytes.value for work in works], dtype=pl.Float64),
    )

    def total(column: str, times: str) -> pl.Expr:
        known = pl.col(column).is_not_null().all()
        return pl.when(known).then((pl.col(column) * pl.col(times)).sum())

    return sized.group_by("shape_id").agg(
        total("flops", "calls").alias("flops"),
        total("bytes", "calls").alias("bytes"),
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
