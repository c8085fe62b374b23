"""Causes in kernels that work on rows: normalisation, softmax and reductions. Their roof is memory; too few rows, too
short rows or rows that vector loads cannot read keep them from it."""

from __future__ import annotations

import re
from math import prod

import msgspec

from rocm_perf.analysis.limits.launches import FEW, is_brief
from rocm_perf.analysis.limits.uses import (
    NEAR_ROOF,
    KernelUses,
    Use,
    bounded,
    call_of,
    cause,
    peak_rate,
    times_as_fast,
    units_of,
    weighed,
)
from rocm_perf.analysis.operators.work.call import Call
from rocm_perf.model.results.limits import Cause
from rocm_perf.model.torch_call import Argument
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

FAMILIES = ("normalisation", "softmax", "reduction")
_SHORT = 4  # bytes for each work-item of a workgroup: a quarter of a vector load
_VECTOR = 16  # bytes of a vector load
_SLOWER = 2.0  # than the best stream of the recording: misaligned rows need such a difference to be the cause
_COLUMNS = re.compile(
    r"cuComputePartGradGammaBeta|cuComputeGradGammaBeta|GammaBetaBackward|ComputeInternalGradients"
)
_CHANNELS = re.compile(r"batch_norm|batchnorm|instance_norm")


class Rows(msgspec.Struct, frozen=True):
    """What a kernel works on: so many rows, or channels, of so many elements."""

    count: int
    length: int
    element_bytes: int
    word: str  # row, channel

    @property
    def size(self) -> int:
        """The bytes of one row."""
        return self.length * self.element_bytes


def row_causes(of_kernel: KernelUses) -> list[Cause]:
    """Return what the rows of a normalisation, softmax or reduction say of it."""
    if of_kernel.family.name not in FAMILIES:
        return []
    return [one for rule in (few_rows, short_rows, misaligned_rows) for one in weighed(of_kernel, rule)]


def rows_of(use: Use) -> Rows | None:
    """Return the rows that the operator of a use works on, where its arguments say so."""
    if use.operator is None:
        return None
    name = use.operator.lower()
    if _CHANNELS.search(name):
        data = _first(use, 3)
        return _rows(data, data.shape[1], "channel") if data is not None and data.shape[1] else None
    if "softmax" in name:
        return _softmax_rows(use)
    if "norm" not in name:
        return None
    call = call_of(use, "input")
    data = call.given("input") if call is not None else _first(use, 2)
    if call is None or data is None or not data.elements or not data.shape:
        return None
    return _rows(data, data.elements // _row_length(call, data), "row")


def _row_length(call: Call, data: Argument) -> int:
    groups = call.integers("num_groups")
    if groups and len(data.shape) > 1:
        return max(1, prod(data.shape[1:]) // groups[0])
    normalised = call.integers("normalized_shape")
    return max(1, prod(normalised)) if normalised else data.shape[-1]


def _softmax_rows(use: Use) -> Rows | None:
    data = _first(use, 1)
    texts = [argument.text for argument in use.arguments if argument.kind == "value"]
    if data is None or not data.elements:
        return None
    axis = int(texts[0]) if texts and texts[0].lstrip("-").isdigit() else -1
    if axis not in (-1, len(data.shape) - 1):
        return None  # along another axis than the last, rows are columns
    return _rows(data, data.elements // data.shape[-1], "row")


def _first(use: Use, dimensions: int) -> Argument | None:
    return next(
        (one for one in use.arguments if one.kind == "tensor" and len(one.shape) >= dimensions),
        None,
    )


def _rows(data: Argument, count: int, word: str) -> Rows:
    return Rows(count, data.elements // max(1, count), data.element_bytes or 0, word)


def few_rows(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that one workgroup for each row or channel leaves most of the GPU idle."""
    groups, units, roof = use.workgroups, use.units, of_kernel.roof
    if not groups or not units or groups > FEW * units or (roof or 0) >= NEAR_ROOF:
        return None
    if is_brief(use, of_kernel):
        return None
    rows = rows_of(use)
    columns = bool(_COLUMNS.search(of_kernel.name))
    if not columns and (rows is None or not rows.count <= groups <= 2 * rows.count):
        return None  # how it divides its work is not known: launches.py says that the grid is small
    saves = bounded(units / groups, roof)
    whose = (
        f"one for each {rows.word} of {rows.length:,} elements"
        if rows and not columns
        else "each sums columns"
    )
    return cause(
        "column-reduction" if columns else "few-rows",
        use.kernel,
        share=1 - groups / units,
        saves=saves,
        certainty="proven",
        title=f"{format_count(groups, 'workgroup')} for {units_of(use.device)}, {whose}: "
        f"{format_share(1 - groups / units)} of the GPU has no work",
        evidence=(
            *_operator(use),
            *_rate(use),
            f"spread over the whole GPU it is at most {times_as_fast(saves)}",
        ),
        source="shapes",
    )


def short_rows(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that a workgroup for each row gives its work-items a quarter of a vector load each, or less."""
    rows = rows_of(use)
    if rows is None or not rows.size or not use.workgroups or not use.workgroup_size or not use.units:
        return None
    if use.workgroups < use.units or not rows.count <= use.workgroups <= 2 * rows.count:
        return None
    if is_brief(use, of_kernel):
        return None
    each = rows.size / use.workgroup_size
    best = _best(use, of_kernel)
    if each > _SHORT or best is None or not use.rate or use.rate > NEAR_ROOF * best:
        return None
    saves = 1 - use.rate / best
    return cause(
        "short-rows",
        use.kernel,
        share=saves,
        saves=saves,
        certainty="likely",
        title=f"a workgroup of {use.workgroup_size:,} for each of {rows.count:,} rows of {format_bytes(rows.size)}: "
        f"{each:.2g} B for each work-item",
        evidence=(
            *_operator(use),
            *_rate(use),
            f"{_stream(use, of_kernel)}: at most {times_as_fast(saves)}",
        ),
        source="shapes",
    )


def misaligned_rows(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that rows begin where vector loads cannot, and that the kernel is slow beside what streams as much."""
    rows, best = rows_of(use), of_kernel.best_rate
    if (
        rows is None
        or not rows.size
        or rows.size % _VECTOR == 0
        or rows.length < _VECTOR
        or rows.word != "row"
    ):
        return None
    if best is None or not use.rate or use.rate * _SLOWER > best or is_brief(use, of_kernel):
        return None
    saves = 1 - use.rate / best
    return cause(
        "misaligned-rows-of-norm",
        use.kernel,
        share=saves,
        saves=saves,
        certainty="likely",
        title=f"rows of {rows.length:,} elements are {rows.size:,} B, no multiple of {_VECTOR}: vector loads cannot "
        "read them",
        evidence=(
            *_operator(use),
            *_rate(use),
            f"the fastest stream of this recording moves {best / 1e3:.2f} TB/s: at most {times_as_fast(saves)}",
        ),
        source="shapes",
    )


def _best(use: Use, of_kernel: KernelUses) -> float | None:
    """What a stream reaches: the fastest of the recording, or the peak of the memory."""
    return of_kernel.best_rate or peak_rate(use.device)


def _stream(use: Use, of_kernel: KernelUses) -> str:
    if of_kernel.best_rate:
        return f"the fastest stream of this recording moves {of_kernel.best_rate / 1e3:.2f} TB/s"
    return f"the memory of {use.device.name} moves {(peak_rate(use.device) or 0) / 1e3:.2f} TB/s at its peak"


def _operator(use: Use) -> tuple[str, ...]:
    data = next((one for one in use.arguments if one.kind == "tensor"), None)
    if use.operator is None or data is None:
        return ()
    return (f"{use.operator} on {list(data.shape)} of {data.dtype}",)


def _rate(use: Use) -> tuple[str, ...]:
    if not use.rate or not use.bytes:
        return ()
    peak = peak_rate(use.device)
    of = f", {format_share(use.rate / peak)} of {peak / 1e3:.2f} TB/s" if peak else ""
    return (f"it moves {format_bytes(use.bytes)} in {format_ns(use.mean_ns)}: {use.rate / 1e3:.2f} TB/s{of}",)
