"""Work by operator shapes: FLOPs and bytes that a kernel's operator needs at least, where it launched nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rocm_perf.analysis.operators.categories import operator_category
from rocm_perf.analysis.operators.peaks import floating_type
from rocm_perf.analysis.operators.tree import OperatorTree
from rocm_perf.analysis.operators.work import operator_work
from rocm_perf.analysis.roofline.amounts import MEMORY, NOTHING, SCHEMA, SHAPES, Key, Known, Work
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.times import ID, Times
from rocm_perf.model.machine_ceilings import MATRIX, VECTOR

_ON_MATRIX_UNITS = ("GEMM", "convolution", "attention")
_HALVES = ("f16", "bf16", "f8")

# What kernel names say of f32 products: cuBLAS and cutlass name tf32 (s1688 is its instruction), Tensile its MFMA.
_REDUCED_F32 = re.compile(r"tf32|xf32|s1688")
_MATRIX_F32 = re.compile(r"_MI\d+[x_]\d+|mfma|xdlops", re.IGNORECASE)

IN_F32 = "half-precision elementwise work is counted as f32, in which torch computes it"
F32_ON_VECTOR = (
    "f32 products are held against the vector units: the kernel's name names no matrix instruction"
)
F32_ON_MATRIX = "f32 products run on the matrix units: the kernel's name says so"
AT_LEAST = "each tensor counts as moved once: a kernel that reads some again moves more"

_CALL = ["name", "shapes", "dtypes", "inputs", "strides"]


@dataclass(frozen=True)
class _Call:
    """The work of one distinct call of a kernel."""

    flops: float | None
    bytes: float | None
    ceiling: str | None  # of its FLOPs; None where they are none
    formula: str
    note: str = ""
    reason: str = ""


def shaped_work(tree: OperatorTree, known: tuple[Device, ...], times: Times) -> Work:
    """FLOPs and bytes of every timed dispatch whose operator has a formula."""
    numbered = tree.kernels.drop_nulls(["owner", "dispatch_id"])  # without a number, all look alike
    owned = numbered.select(*ID, "owner")
    if not owned.height:
        return NOTHING
    owners = tree.operators.select(pl.col("row").alias("owner"), *_CALL, "dispatches")
    timed = times.timed.join(owned, on=ID, how="inner", nulls_equal=True).join(owners, on="owner", how="left")
    columns = ["gpu", "kernel", *_CALL, "dispatches"]
    distinct = timed.select(columns).unique(maintain_order=True).with_row_index("call")
    calls = [_call(row) for row in distinct.iter_rows(named=True)]
    numbered = timed.join(distinct, on=columns, how="left", nulls_equal=True)
    rows = _rows(distinct, calls, known)
    amounts = numbered.select("call", "slot").join(rows, on="call", how="inner").select(*SCHEMA)
    return Work(
        amounts=amounts,
        known=_facts(distinct, calls, known),
        all_flops=frozenset((row[0], row[1]) for row in rows.select("gpu", "kernel").unique().iter_rows()),
        reasons=_reasons(distinct, calls),
        notes=_notes(distinct, calls),
    )


def _call(row: Mapping[str, Any]) -> _Call:
    name, shapes, dtypes, inputs, strides = (row[column] for column in _CALL)
    if row["dispatches"] != 1:
        why = f"{name} launched {row['dispatches']} kernels, among which its work cannot be divided"
        return _Call(None, None, None, "", reason=why)
    work = operator_work(name, shapes, dtypes, inputs, strides, row["kernel"])
    if work.flops.value is None or work.bytes.value is None:
        return _Call(None, None, None, "", reason=work.flops.unavailable or work.bytes.unavailable or "")
    ceiling, note = _ceiling(row["kernel"], name, floating_type(shapes, dtypes))
    return _Call(float(work.flops.value), float(work.bytes.value), ceiling, work.flops.formula, note)


def _ceiling(kernel: str, operator: str, dtype: str | None) -> tuple[str | None, str]:
    """What the FLOPs run on, and what is assumed in saying so. Integers have no FLOPs."""
    if dtype is None:
        return None, ""
    if operator_category(operator) not in _ON_MATRIX_UNITS:
        return ("f32" + VECTOR, IN_F32) if dtype in _HALVES else (dtype + VECTOR, "")
    if dtype != "f32":
        return dtype + MATRIX, ""
    if _REDUCED_F32.search(kernel):
        return "xf32" + MATRIX, F32_ON_MATRIX
    if _MATRIX_F32.search(kernel):
        return "f32" + MATRIX, F32_ON_MATRIX
    return "f32" + VECTOR, F32_ON_VECTOR


def _parts(call: _Call, memory: str) -> Iterator[tuple[str, float, str]]:
    """Ceiling, amount and formula of each kind of work."""
    if call.bytes is not None:
        yield memory, call.bytes, "each tensor of the call read or written once"
    if call.flops is not None and call.ceiling is not None:
        yield call.ceiling, call.flops, call.formula


def _rows(distinct: pl.DataFrame, calls: list[_Call], known: tuple[Device, ...]) -> pl.DataFrame:
    rows = [
        (number, gpu, kernel, ceiling, amount)
        for (number, gpu, kernel), call in zip(
            distinct.select("call", "gpu", "kernel").iter_rows(), calls, strict=True
        )
        for ceiling, amount, _ in _parts(call, known[gpu].memory)
    ]
    return pl.DataFrame(
        rows, {"call": pl.UInt32, **{name: SCHEMA[name] for name in list(SCHEMA)[:4]}}, orient="row"
    )


def _facts(
    distinct: pl.DataFrame, calls: list[_Call], known: tuple[Device, ...]
) -> dict[tuple[Key, str], Known]:
    formulas: dict[tuple[Key, str], set[str]] = {}
    for (gpu, kernel), call in zip(distinct.select("gpu", "kernel").iter_rows(), calls, strict=True):
        for ceiling, _, formula in _parts(call, known[gpu].memory):
            formulas.setdefault(((gpu, kernel), ceiling), set()).add(formula)
    return {
        (key, ceiling): Known(SHAPES, "B" if ceiling in MEMORY else "FLOP", _formula(texts))
        for (key, ceiling), texts in formulas.items()
    }


def _formula(texts: set[str]) -> str:
    first = min(texts)
    return first if len(texts) == 1 else f"mean over {len(texts)} sets of shapes, such as {first}"


def _reasons(distinct: pl.DataFrame, calls: list[_Call]) -> dict[Key, str]:
    """Why the work of each kernel is unknown: the last reason given."""
    keys = distinct.select("gpu", "kernel").iter_rows()
    return {
        (gpu, kernel): call.reason for (gpu, kernel), call in zip(keys, calls, strict=True) if call.reason
    }


def _notes(distinct: pl.DataFrame, calls: list[_Call]) -> dict[Key, tuple[str, ...]]:
    by_kernel: dict[Key, dict[str, None]] = {}
    for (gpu, kernel), call in zip(distinct.select("gpu", "kernel").iter_rows(), calls, strict=True):
        if call.bytes is not None:
            notes = by_kernel.setdefault((gpu, kernel), {AT_LEAST: None})
            if call.note:
                notes[call.note] = None
    return {key: tuple(notes) for key, notes in by_kernel.items()}
