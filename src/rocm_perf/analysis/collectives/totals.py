"""Collectives of one kind together: their bandwidth as nccl-tests counts it, against what the links allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from rocm_perf.analysis.collectives.bus import factor, factor_formula
from rocm_perf.analysis.collectives.pace import pace
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.communication import CollectiveTotal, Pace

_KIND = ["name", "group", "group_size", "dtype", "algorithm", "order"]
_ALGORITHM = "message_bytes / transfer_ns"
_NO_SIZE = "this recording does not say how many bytes were sent"
_NO_TIME = "it took no time"
_NO_RANKS = "how many ranks took part is not recorded"


def totals(calls: pl.DataFrame, link: Callable[[int | None], Quantity]) -> tuple[CollectiveTotal, ...]:
    """The kinds of collectives among the calls, those with the longest time first."""
    order = pl.col("message_bytes").cast(pl.Float64).log(2).floor()
    sized = pl.col("message_bytes") > 0
    rows = calls.with_columns(order=pl.when(sized).then(order).cast(pl.Int64))
    kinds = rows.group_by(_KIND, maintain_order=True).agg(
        calls=pl.len().cast(pl.Int64),
        total_ns=pl.col("ns").sum(),
        exposed_ns=_known_sum("exposed_ns"),
        size_bytes=_known_sum("size_bytes"),
        message_bytes=pl.col("message_bytes").max(),
        least_bytes=pl.col("message_bytes").min(),
        transfer_ns=pl.col("transfer_ns").median().round().cast(pl.Int64),
        ranks=pl.col("ranks").min(),
        moved_bytes=pl.col("message_bytes").filter(sized).sum(),
        moving_ns=pl.col("transfer_ns").filter(sized).sum(),
    )
    ordered = kinds.sort("total_ns", "name", "message_bytes", descending=[True, False, True], nulls_last=True)
    return tuple(_total(row, link(row["group_size"])) for row in ordered.iter_rows(named=True))


def _known_sum(column: str) -> pl.Expr:
    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum())


def _total(row: dict[str, Any], link: Quantity) -> CollectiveTotal:
    algorithm = _bandwidth(row)
    bus = _bus_bandwidth(row, algorithm)
    return CollectiveTotal(
        **{name: row[name] for name in ("name", "group", "group_size", "dtype", "algorithm", "calls")},
        **{name: row[name] for name in ("total_ns", "exposed_ns", "size_bytes", "message_bytes")},
        least_bytes=row["least_bytes"],
        transfer_ns=row["transfer_ns"],
        ranks=row["ranks"],
        bandwidth=algorithm,
        bus_bandwidth=bus,
        link=link,
        pace=_pace(row, bus, link),
    )


def _bandwidth(row: dict[str, Any]) -> Quantity:
    moved, spent = row["moved_bytes"], row["moving_ns"]
    if not moved or not spent:
        return unavailable("GB/s", _ALGORITHM, _NO_SIZE if not moved else _NO_TIME)
    inputs = {"message_bytes": moved, "transfer_ns": spent}
    return Quantity(value=moved / spent, unit="GB/s", formula=_ALGORITHM, inputs=inputs)


def _bus_bandwidth(row: dict[str, Any], algorithm: Quantity) -> Quantity:
    """The bandwidth that compares with a link."""
    ranks, times, formula = row["group_size"], _factor(row), factor_formula(row["name"])
    if formula is None:
        return unavailable("GB/s", _ALGORITHM, f"what {row['name']} moves over the links is not known")
    formula = f"{_ALGORITHM} x {formula}"
    if algorithm.value is None:
        return unavailable("GB/s", formula, algorithm.unavailable or _NO_SIZE)
    if times is None:
        return unavailable("GB/s", formula, _NO_RANKS)
    inputs = {**algorithm.inputs, **({"n": ranks} if ranks else {})}
    return Quantity(value=algorithm.value * times, unit="GB/s", formula=formula, inputs=inputs)


def _factor(row: dict[str, Any]) -> float | None:
    return factor(row["name"], row["group_size"])


def _pace(row: dict[str, Any], bus: Quantity, link: Quantity) -> Pace | None:
    times = _factor(row)
    if bus.value is None or not link.value or times is None:
        return None
    return pace(
        row["transfer_ns"],
        moved_bytes=row["message_bytes"] * times,
        link_gbps=link.value,
        matched=row["ranks"] > 1 and row["ranks"] == row["group_size"],
    )
