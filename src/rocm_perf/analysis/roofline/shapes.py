"""Work by operator shapes: FLOPs and bytes that a kernel's operator needs at least, where it launched nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.keys import joined, telling
from rocm_perf.analysis.operators.peaks import floating_type, short_type
from rocm_perf.analysis.operators.routed import with_routed
from rocm_perf.analysis.operators.serving_steps import with_step
from rocm_perf.analysis.operators.tree import OperatorTree
from rocm_perf.analysis.operators.work import Work as OperatorWork
from rocm_perf.analysis.operators.work import launched_work, operator_work
from rocm_perf.analysis.operators.work.division import asked_gradient, beside, share
from rocm_perf.analysis.roofline.amounts import MEMORY, NOTHING, SCHEMA, SHAPES, Key, Known, Work, with_zeros
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.times import ID, Times
from rocm_perf.model.machine_ceilings import MATRIX, VECTOR
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.torch_call import arguments
from rocm_perf.model.trace import Trace

_INTEGERS = "i8"  # whose operations are not floating-point ones
_HALVES = ("f16", "bf16", "f8")

# What kernel names say of f32 products: cuBLAS and cutlass name tf32 (s1688 is its instruction), Tensile its MFMA.
_REDUCED_F32 = re.compile(r"tf32|xf32|s1688")
_MATRIX_F32 = re.compile(r"_MI\d+[x_]\d+|mfma|xdlops", re.IGNORECASE)

IN_F32 = "half-precision elementwise work is counted as f32, in which torch computes it"
F32_ON_VECTOR = (
    "f32 products are held against the vector units: the kernel's name names no matrix instruction"
)
F32_ON_MATRIX = "f32 products run on the matrix units: the kernel's name says so"
_ONE_PASS = "it is one pass of its operator, whose operations are not counted apart"
_OF_WHICH = "its name does not say which part of its operator's tensors it moves"
AT_LEAST = "each tensor counts as moved once: a kernel that reads some again moves more"

_CALL = ["name", "shapes", "dtypes", "inputs", "strides"]
_LAUNCHED = "launched"  # the number of the set of kernels that a call launched
_BESIDE = (_LAUNCHED, "step", "routed")


class CallWork(msgspec.Struct, frozen=True):
    """The work of one distinct call of a kernel."""

    flops: Quantity
    bytes: Quantity
    ceiling: str | None = None  # of its FLOPs; None where they are none
    notes: tuple[str, ...] = ()
    whole: OperatorWork | None = (
        None  # of all that the operator launched, where this is the kernel that multiplies
    )

    @property
    def reason(self) -> str:
        return "; ".join(
            dict.fromkeys(one.unavailable for one in (self.flops, self.bytes) if one.unavailable)
        )


class ShapedCalls(msgspec.Struct, frozen=True):
    """The distinct calls of each kernel, and the work of each: `rows` has the arguments of the operator, and in `slot`
    the timed dispatches."""

    rows: pl.DataFrame
    works: list[CallWork]


def shaped_work(trace: Trace, tree: OperatorTree, known: tuple[Device, ...], times: Times) -> Work:
    """FLOPs and bytes of every timed dispatch whose operator has a formula."""
    shaped = shaped_calls(trace, tree, times)
    if shaped is None:
        return NOTHING
    distinct, calls = shaped.rows, shaped.works
    rows = _rows(distinct, calls, known)
    slots = distinct.select("call", "slot").explode("slot")
    amounts = slots.join(rows, on="call", how="inner").select(*SCHEMA)
    return Work(
        amounts=amounts,
        known=_facts(distinct, calls, known),
        all_flops=_with_all_flops(distinct, calls),
        reasons=_reasons(distinct, calls),
        notes=_notes(distinct, calls),
    )


def shaped_calls(trace: Trace, tree: OperatorTree, times: Times) -> ShapedCalls | None:
    """Return the calls of operators that launched timed dispatches; None where no launch is known to be one's."""
    numbered = tree.kernels.drop_nulls(["owner", "dispatch_id"])  # without a number, all look alike
    owned = with_step(trace, numbered.select(*ID, "owner", "launch_ns"), "launch_ns").drop("launch_ns")
    if not owned.height:
        return None
    by_owner, sets = _launched(tree)
    routed = with_routed(tree, tree.operators.select("signature", "row"))
    owners = routed.rename({"row": "owner"}).join(by_owner, on="owner")
    key = telling(ID, times.timed, owned) or ["dispatch_id"]
    timed = (
        times.timed.select("slot", "gpu", "kernel", *key)
        .join(owned.select(*key, "owner", "step"), on=key, nulls_equal=True, maintain_order="left")
        .join(owners, on="owner", how="left", maintain_order="left")
    )
    alike = timed.group_by("gpu", "kernel", "signature", *_BESIDE, maintain_order=True).agg("slot")
    arguments = tree.operators.select("signature", *_CALL).unique("signature")
    distinct = alike.join(arguments, on="signature", how="left", maintain_order="left").with_row_index("call")
    calls = [_call(row, sets[row[_LAUNCHED]]) for row in distinct.drop("slot").iter_rows(named=True)]
    return ShapedCalls(distinct, calls)


def _launched(tree: OperatorTree) -> tuple[pl.DataFrame, list[Counter[str]]]:
    """For each owner the number of the set of kernels that it launched, and those sets, each kept once."""
    counts = tree.kernels.select("owner", "kernel").drop_nulls("owner").group_by("owner", "kernel").len()
    alike = counts.select("kernel", "len").unique().sort("kernel", "len").with_row_index("member")
    each = counts.join(alike, on=["kernel", "len"]).sort("member")
    by_owner = joined(each.select("owner", pl.col("member").cast(pl.String)), "owner", "member", " ")
    sets = by_owner.select("member").unique(maintain_order=True).with_row_index(_LAUNCHED)
    launched = alike.select("kernel", "len").rows()
    counters = [Counter(dict(launched[int(member)] for member in text.split(" "))) for text in sets["member"]]
    return by_owner.join(sets, on="member").select("owner", _LAUNCHED), counters


def _call(row: Mapping[str, Any], launched: Counter[str]) -> CallWork:
    """The work of one launch of a kernel: its own where that is known, else what of its operator's is."""
    own = _launched_work(row, row["kernel"])
    if own is None:
        return _divided(row, launched)
    ceiling, note = _ceiling_of(own, row)
    return CallWork(own.flops, own.bytes, ceiling, (note,) if note else ())


def _launched_work(row: Mapping[str, Any], kernel: str) -> OperatorWork | None:
    return launched_work(row["name"], row["shapes"], row["dtypes"], kernel, row["routed"])


def _divided(row: Mapping[str, Any], launched: Counter[str]) -> CallWork:
    """What of its operator's work is that of one launch."""
    name, shapes, dtypes, inputs, strides = (row[column] for column in _CALL)
    kernel = row["kernel"]
    asked = asked_gradient(name, kernel, inputs) if len(launched) > 1 else inputs
    if asked != inputs:
        alike = {
            other: count for other, count in launched.items() if asked_gradient(name, other, inputs) == asked
        }
        launched = Counter(alike)
    work = operator_work(name, shapes, dtypes, asked, strides, kernel, row["step"], row["routed"])
    if any(_launched_work(row, other) for other in launched):
        part = beside(name)
    else:
        part = share(name, work.on_matrix, kernel, launched, arguments(shapes, dtypes) or ())
    ceiling, note = _ceiling_of(work, row)
    notes = tuple(text for text in (part.note, note) if text)
    if part.own_bytes is not None:
        moved = Quantity(part.own_bytes, "B", f"{part.note} ({SHAPES})")
        return CallWork(unavailable("FLOP", SHAPES, _ONE_PASS), moved, None, notes)
    return CallWork(
        _part(work.flops, part.flops, part.reason),
        _part(work.bytes, part.bytes, part.reason),
        ceiling,
        notes,
        work if part.flops else None,
    )


def _part(whole: Quantity, fraction: float | None, reason: str) -> Quantity:
    if whole.value is None or fraction == 1:
        return whole
    if fraction is None:
        return unavailable(whole.unit, whole.formula, reason or _OF_WHICH)
    return replace(whole, value=whole.value * fraction, formula=f"{whole.formula} * {fraction:.3g}")


def _ceiling_of(work: OperatorWork, row: Mapping[str, Any]) -> tuple[str | None, str]:
    dtype = short_type(work.dtype) or floating_type(row["shapes"], row["dtypes"])
    return _ceiling(row["kernel"], work.on_matrix, dtype)


def _ceiling(kernel: str, on_matrix: bool, dtype: str | None) -> tuple[str | None, str]:
    """What the FLOPs run on, and what is assumed in saying so. Integers have no FLOPs."""
    if dtype is None:
        return None, ""
    if not on_matrix:
        return ("f32" + VECTOR, IN_F32) if dtype in _HALVES else (dtype + VECTOR, "")
    if dtype != "f32":
        return dtype + MATRIX, ""
    if _REDUCED_F32.search(kernel):
        return "xf32" + MATRIX, F32_ON_MATRIX
    if _MATRIX_F32.search(kernel):
        return "f32" + MATRIX, F32_ON_MATRIX
    return "f32" + VECTOR, F32_ON_VECTOR


def _parts(call: CallWork, memory: str) -> Iterator[tuple[str, Quantity]]:
    """Ceiling and amount of each kind of work."""
    if call.bytes.known:
        yield memory, call.bytes
    if call.flops.known and call.ceiling is not None:
        yield call.ceiling, call.flops


def _rows(distinct: pl.DataFrame, calls: list[CallWork], known: tuple[Device, ...]) -> pl.DataFrame:
    rows = [
        (number, gpu, kernel, ceiling, float(amount.value or 0))
        for (number, gpu, kernel), call in zip(
            distinct.select("call", "gpu", "kernel").iter_rows(), calls, strict=True
        )
        for ceiling, amount in _parts(call, known[gpu].memory)
    ]
    schema = {"call": pl.UInt32, **{name: SCHEMA[name] for name in list(SCHEMA)[:4]}}
    computing = distinct.filter(pl.Series([call.flops.known for call in calls], dtype=pl.Boolean))
    return with_zeros(
        pl.DataFrame(rows, schema, orient="row"),
        "call",
        computing.select(pl.col(name).cast(schema[name]) for name in ("call", "gpu", "kernel")),
    )


def _facts(
    distinct: pl.DataFrame, calls: list[CallWork], known: tuple[Device, ...]
) -> dict[tuple[Key, str], Known]:
    amounts: dict[tuple[Key, str], list[Quantity]] = {}
    for (gpu, kernel), call in zip(distinct.select("gpu", "kernel").iter_rows(), calls, strict=True):
        for ceiling, amount in _parts(call, known[gpu].memory):
            amounts.setdefault(((gpu, kernel), ceiling), []).append(amount)
    return {
        (key, ceiling): Known(
            basis=SHAPES,
            unit=_unit(ceiling),
            formula=_formula({one.formula for one in of_kernel}),
            doubt="; ".join(sorted({one.doubt for one in of_kernel if one.doubt})) or None,
        )
        for (key, ceiling), of_kernel in amounts.items()
    }


def _unit(ceiling: str) -> str:
    if ceiling in MEMORY:
        return "B"
    return "OP" if ceiling.startswith(_INTEGERS) else "FLOP"


def _formula(texts: set[str]) -> str:
    first = min(texts)
    return first if len(texts) == 1 else f"mean over {len(texts)} sets of shapes, such as {first}"


def _with_all_flops(distinct: pl.DataFrame, calls: list[CallWork]) -> frozenset[Key]:
    """The kernels that compute something known, and those of which it is known of every call that they do not."""
    each = list(zip(distinct.select("gpu", "kernel").iter_rows(), calls, strict=True))
    unknown = {(gpu, kernel) for (gpu, kernel), call in each if not call.flops.known}
    return frozenset(
        (gpu, kernel)
        for (gpu, kernel), call in each
        if call.flops.known and (call.ceiling is not None or (gpu, kernel) not in unknown)
    )


def _reasons(distinct: pl.DataFrame, calls: list[CallWork]) -> dict[Key, str]:
    """Why the work of each kernel is unknown: the last reason given."""
    keys = distinct.select("gpu", "kernel").iter_rows()
    return {
        (gpu, kernel): call.reason for (gpu, kernel), call in zip(keys, calls, strict=True) if call.reason
    }


def _notes(distinct: pl.DataFrame, calls: list[CallWork]) -> dict[Key, tuple[str, ...]]:
    by_kernel: dict[Key, dict[str, None]] = {}
    for (gpu, kernel), call in zip(distinct.select("gpu", "kernel").iter_rows(), calls, strict=True):
        if call.bytes.known or call.flops.known:
            notes = by_kernel.setdefault((gpu, kernel), {AT_LEAST: None} if call.bytes.known else {})
            notes.update(dict.fromkeys(call.notes))
    return {key: tuple(notes) for key, notes in by_kernel.items()}
