"""Sheets about framework operators: by category, by name, by arguments, and their work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rocm_perf.model.document import Document
from rocm_perf.model.results.operators import (
    SUM_OF,
    Operator,
    OperatorCategory,
    OperatorKernel,
    OperatorShape,
    Place,
)
from rocm_perf.render.sheets.sheet import Sheet, SheetColumns, ms, scaled, sheet, us, with_shares
from rocm_perf.units import NS_PER_MS, NS_PER_US

# The names of TraceLens for the sheets of our categories; others keep their own.
_SHEETS = {"convolution": "CONV", "attention": "SDPA", "normalisation": "NORM", "elementwise": "pointwise"}
_KERNEL_MS, _KERNEL_US = "total_direct_kernel_time_ms", "total_direct_kernel_time_sum (us)"


class Call(NamedTuple):
    """The calls of an operator with the same shapes and types."""

    category: str
    operator: str
    shape: OperatorShape


_CATEGORIES: SheetColumns[OperatorCategory] = {
    "op category": lambda row: row.name,
    "Count": lambda row: row.calls,
    _KERNEL_MS: lambda row: ms(row.gpu_self_ns),
    "host_self_time_ms": lambda row: ms(row.host_self_ns),
}
_OPERATORS: SheetColumns[Operator] = {
    "name": lambda row: row.name,
    "op category": lambda row: row.category,
    "Count": lambda row: row.calls,
    _KERNEL_US: lambda row: us(row.gpu_self_ns),
    _KERNEL_MS: lambda row: ms(row.gpu_self_ns),
    "total_subtree_kernel_time_ms": lambda row: ms(row.gpu_total_ns),
    "of that copies (ms)": lambda row: ms(row.copy_ns),
    "direct_kernel_count": lambda row: row.dispatches,
    "host_self_time_ms": lambda row: ms(row.host_self_ns),
    "host_total_time_ms": lambda row: ms(row.host_total_ns),
    "backward_kernel_time_ms": lambda row: ms(row.backward_gpu_ns),
}
_ARGUMENTS: SheetColumns[Call] = {
    "name": lambda row: row.operator,
    "op category": lambda row: row.category,
    "Input Dims": lambda row: row.shape.shapes,
    "Input type": lambda row: row.shape.dtypes,
    "operation_count": lambda row: row.shape.calls,
    _KERNEL_US: lambda row: us(row.shape.gpu_self_ns),
    "total_direct_kernel_time_mean (us)": lambda row: us(row.shape.gpu_self_ns / row.shape.calls),
    "host_self_time (us)": lambda row: us(row.shape.host_self_ns),
    "ex_UID": lambda row: row.shape.op_id,
    "kernel_details_summary": lambda row: "; ".join(map(_kernel, row.shape.kernels)),
}
WORK: SheetColumns[Call] = {
    "name": lambda row: row.operator,
    "op category": lambda row: row.category,
    "Input Dims": lambda row: row.shape.shapes,
    "Input type": lambda row: row.shape.dtypes,
    "operation_count": lambda row: row.shape.calls,
    "Kernel Time (us)_sum": lambda row: us(row.shape.gpu_total_ns),
    "Kernel Time (us)_mean": lambda row: us(row.shape.gpu_total_ns / row.shape.counted_calls),
    "GFLOPS": lambda row: scaled(row.shape.flops, 1e-9 / row.shape.counted_calls),
    "Data Moved (MB)": lambda row: scaled(row.shape.bytes, 1e-6 / row.shape.counted_calls),
    "FLOPS/Byte": lambda row: _intensity(row.shape),
    "TFLOPS/s": lambda row: scaled(row.shape.tflops),
    "TB/s": lambda row: scaled(row.shape.tbytes),
    "variants": lambda row: row.shape.variants,
    "how": lambda row: _how(row.shape),
    "doubt": lambda row: _doubt(row.shape),
    "ex_UID": lambda row: row.shape.op_id,
}
_PLACES: SheetColumns[Place] = {
    "module": lambda row: row.name,
    "Count": lambda row: row.calls,
    "kernel_time_ms": lambda row: ms(row.gpu_ns),
    "backward_kernel_time_ms": lambda row: ms(row.backward_gpu_ns),
    "host_time_ms": lambda row: ms(row.host_ns),
    "kernel_count": lambda row: row.dispatches,
}


def operator_sheets(document: Document) -> Iterator[Sheet]:
    """Operators from the coarsest view to the finest; the shares are of all GPU time."""
    operators = document.operators
    whole, missing = operators.total_ns, operators.unavailable
    categories = sheet(
        "ops_summary_by_category", "operators of one category", operators.categories, _CATEGORIES, missing
    )
    yield with_shares(categories, _KERNEL_MS, whole / NS_PER_MS)
    rows = sorted(_operators(document), key=lambda row: -row.gpu_self_ns)
    by_name = sheet("ops_summary", "all calls of one operator", rows, _OPERATORS, missing)
    yield with_shares(by_name, _KERNEL_MS, whole / NS_PER_MS)
    calls = sorted(_calls(document), key=lambda row: -row.shape.gpu_self_ns)
    holds = "the calls of an operator with the same shapes and types, if they launched GPU work themselves"
    by_arguments = sheet("ops_unique_args", holds, calls, _ARGUMENTS, missing)
    yield with_shares(by_arguments, _KERNEL_US, whole / NS_PER_US)
    yield from _work_sheets(calls, missing)
    yield sheet("modules", "one nn.Module", operators.modules, _PLACES, operators.modules_unavailable)


def _work_sheets(calls: list[Call], missing: str | None) -> Iterator[Sheet]:
    """The work of all operators that launched kernels, so that no kernel counts twice; then each category whose work
    is known by itself."""
    holds = "as in ops_unique_args, with its work; GFLOPS and MB are those of one call, or the mean of its variants"
    yield sheet("unified_perf_summary", holds, calls, WORK, missing)
    known = [call for call in calls if call.shape.flops.known or call.shape.bytes.known]
    for category in dict.fromkeys(call.category for call in known):
        rows = [call for call in known if call.category == category]
        yield sheet(_sheet_name(category), f"as in unified_perf_summary, of {category} alone", rows, WORK)


def _operators(document: Document) -> Iterator[Operator]:
    for category in document.operators.categories:
        yield from category.operators


def _calls(document: Document) -> Iterator[Call]:
    for operator in _operators(document):
        for shape in operator.shapes:
            if shape.gpu_self_ns:
                yield Call(operator.category, operator.name, shape)


def _intensity(shape: OperatorShape) -> float | None:
    flops, size = shape.flops.value, shape.bytes.value
    return flops / size if flops is not None and size else None


def _how(shape: OperatorShape) -> str | None:
    """The formula of one call, as the amounts beside it are; of several kinds of calls which one that is."""
    if not shape.flops.known:
        return shape.flops.unavailable
    one = shape.flops.formula.removeprefix(SUM_OF)
    return f"mean of {one}" if shape.variants > 1 else one


def _doubt(shape: OperatorShape) -> str | None:
    """Why the amounts and rates may be others: each reason once."""
    quantities = (shape.flops, shape.bytes, shape.tflops, shape.tbytes)
    reasons = [part for quantity in quantities if quantity.doubt for part in quantity.doubt.split("; ")]
    return "; ".join(dict.fromkeys(reasons)) or None


def _kernel(kernel: OperatorKernel) -> str:
    return f"{kernel.dispatches} x {kernel.short_name}, {us(kernel.gpu_ns):.3f} us"


def _sheet_name(category: str) -> str:
    name = _SHEETS.get(category, category)
    return re.sub(r"[^\w-]+", "_", name)
