"""Operators as one flat table in an order of choice, as torch's `key_averages().table(sort_by=...)` prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.operators import Operator, OperatorShape
from rocm_perf.render.sections.section import (
    Column,
    Section,
    code,
    count,
    doubts,
    explained,
    grids,
    rate,
    share,
    size,
    time,
)
from rocm_perf.units import format_ns

_IN_PART = "some of its calls have no formula or no shapes: it is more"


def _work(operator: Operator, unit: str, of_shape: Callable[[OperatorShape], Quantity]) -> Quantity:
    """The work of all calls of an operator, summed over its shapes; doubtful where it is not known of all."""
    amounts = [of_shape(shape) for shape in operator.shapes]
    formula = "sum over the shapes of the operator"
    known = [amount.value for amount in amounts if amount.value is not None]
    if not known:
        reasons = [amount.unavailable for amount in amounts if amount.unavailable]
        return unavailable(unit, formula, reasons[0] if reasons else "no shape was recorded")
    complete = len(known) == len(amounts) and not operator.more_shapes
    inputs = {"shapes": len(known), "sum": sum(known)}
    return Quantity(sum(known), unit, formula, inputs, doubt=None if complete else _IN_PART)


def flops(operator: Operator) -> Quantity:
    """The operations of all calls."""
    return _work(operator, "FLOP", lambda shape: shape.flops)


def moved(operator: Operator) -> Quantity:
    """The bytes that all calls move at least."""
    return _work(operator, "B", lambda shape: shape.bytes)


ORDERS: Mapping[str, Callable[[Operator], float]] = {
    "self": lambda row: row.gpu_self_ns,
    "total": lambda row: row.gpu_total_ns,
    "host": lambda row: row.host_self_ns,
    "calls": lambda row: row.calls,
    "flops": lambda row: flops(row).value or 0,
    "bytes": lambda row: moved(row).value or 0,
}
_MEANING = {
    "self": "GPU time of what they launched themselves",
    "total": "GPU time of everything inside them",
    "host": "host time outside other operators",
    "calls": "calls",
    "flops": "operations",
    "bytes": "bytes moved",
}


def operator_table(document: Document, top: int, order: str) -> Section:
    """All operators, those first that have most of what they are ordered by."""
    operators = document.operators
    if operators.unavailable:
        return Section("Operators", unavailable=operators.unavailable)
    rows = [row for category in operators.categories for row in category.operators]
    largest = sorted(rows, key=lambda row: (-ORDERS[order](row), row.name))
    owned = f"Operators own {format_ns(operators.owned_ns)} of {format_ns(operators.total_ns)} GPU time."
    return Section(
        f"Operators by {_MEANING[order]}",
        lines=(owned,) if operators.total_ns else (),
        grids=grids("", largest, _columns(operators.total_ns), top),
        notes=_notes(largest[:top]),
    )


def _columns(total_ns: int) -> Sequence[Column[Operator]]:
    return (
        explained("self", time, lambda row: row.gpu_self_ns, "operators.gpu_self_ns"),
        explained("share", share, lambda row: _share(row, total_ns)),
        explained("total", time, lambda row: row.gpu_total_ns, "GPU time of the operator and all inside it"),
        explained("host", time, lambda row: row.host_self_ns, "operators.host_self_ns"),
        explained("calls", count, lambda row: row.calls, "calls of the operator"),
        explained("GFLOP", _giga, flops),
        explained("bytes", _size, moved),
        code("operator", lambda row: row.name),
    )


def _share(row: Operator, total_ns: int) -> Quantity:
    return ratio(row.gpu_self_ns, total_ns, "gpu_self_ns / total_ns", "gpu_self_ns", "total_ns")


def _giga(amount: Quantity) -> str:
    return "-" if amount.value is None else rate(amount.value / 1e9) + ("?" if amount.doubt else "")


def _size(amount: Quantity) -> str:
    return size(amount.value) + ("?" if amount.doubt else "")


def _notes(rows: Sequence[Operator]) -> tuple[str, ...]:
    return doubts(amount for row in rows for amount in (flops(row), moved(row)))
