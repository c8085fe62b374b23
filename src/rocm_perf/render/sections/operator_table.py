"""Operators as one flat table in an order of choice, as torch's `key_averages().table(sort_by=...)` prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity, ratio
from rocm_perf.model.results.operators import Operator
from rocm_perf.render.sections.operators import WHAT_COUNTS
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

ORDERS: Mapping[str, Callable[[Operator], float]] = {
    "self": lambda row: row.gpu_self_ns,
    "total": lambda row: row.gpu_total_ns,
    "host": lambda row: row.host_self_ns,
    "calls": lambda row: row.calls,
    "flops": lambda row: row.flops.value or 0,
    "bytes": lambda row: row.bytes.value or 0,
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
        explained(
            "calls", count, lambda row: row.calls, "calls of the operator, also those that launched nothing"
        ),
        explained("GFLOP", _giga, lambda row: row.flops),
        explained("bytes", _size, lambda row: row.bytes),
        code("operator", lambda row: row.name),
    )


def _share(row: Operator, total_ns: int) -> Quantity:
    return ratio(row.gpu_self_ns, total_ns, "gpu_self_ns / total_ns", "gpu_self_ns", "total_ns")


def _giga(amount: Quantity) -> str:
    return "-" if amount.value is None else rate(amount.value / 1e9) + ("?" if amount.doubt else "")


def _size(amount: Quantity) -> str:
    return size(amount.value) + ("?" if amount.doubt else "")


def _notes(rows: Sequence[Operator]) -> tuple[str, ...]:
    return (*doubts(amount for row in rows for amount in (row.flops, row.bytes)), WHAT_COUNTS)
