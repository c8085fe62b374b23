"""Totals of host activity by domain, and of copies by direction."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.passes import timed_copies, timed_pass
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.times import CopyTotal, DomainTotal
from rocm_perf.model.trace import Trace

FORMULAS = {
    "domains.total_ns": "sum of (end_ns - start_ns) over the calls of the domain; nested calls count again",
    "domains.union_ns": "sum over threads of the union of the domain's calls; nested calls count once",
    "copies.bandwidth": "sum of size_bytes / sum of (end_ns - start_ns), over copies whose size was recorded",
}


def domain_totals(trace: Trace) -> tuple[DomainTotal, ...]:
    """API domains, framework operators and Python, largest first."""
    calls = _domains_of(trace, "api_calls", "domain") + _domains_of(trace, "ops", "category")
    return tuple(sorted(calls, key=lambda total: -total.union_ns)) or _from_summaries(trace)


def _domains_of(trace: Trace, table: str, column: str) -> list[DomainTotal]:
    number = timed_pass(trace) or 0
    usable = (pl.col("pass_id") == number) & (pl.col("end_ns") >= pl.col("start_ns"))
    events = trace.lazy(table).filter(usable).rename({column: "domain"} if column != "domain" else {})
    length = pl.col("end_ns") - pl.col("start_ns")
    busiest = (
        events.group_by("domain", "name")
        .agg(length.sum().alias("busiest_ns"), pl.len().alias("calls"))
        .sort("busiest_ns", "name", descending=[True, False])
        .group_by("domain", maintain_order=True)
        .agg(
            pl.col("name").first().alias("busiest"),
            pl.col("busiest_ns").first(),
            pl.col("busiest_ns").sum().alias("total_ns"),
            pl.col("calls").sum(),
        )
        .collect()
    )
    unions = (
        union_ns(events, ["domain", "node", "pid", "tid"]).group_by("domain").agg(pl.col("union_ns").sum())
    )
    return [
        DomainTotal(
            domain=row["domain"],
            calls=row["calls"],
            total_ns=row["total_ns"],
            union_ns=row["union_ns"],
            busiest=row["busiest"],
            busiest_ns=row["busiest_ns"],
        )
        for row in busiest.join(unions, on="domain").iter_rows(named=True)
    ]


def copy_totals(trace: Trace) -> tuple[CopyTotal, ...]:
    """Copies by direction, longest first."""
    length = pl.col("end_ns") - pl.col("start_ns")
    sized = pl.col("size_bytes").is_not_null()
    table = (
        timed_copies(trace)
        .group_by("kind")
        .agg(
            pl.len().alias("copies"),
            length.sum().alias("total_ns"),
            pl.col("size_bytes").sum().alias("bytes"),
            sized.sum().alias("sized"),
            length.filter(sized).sum().alias("sized_ns"),
        )
        .sort("total_ns", descending=True)
    )
    return tuple(
        CopyTotal(
            kind=row["kind"],
            copies=row["copies"],
            total_ns=row["total_ns"],
            size_bytes=row["bytes"] if row["sized"] else None,
            bandwidth=_bandwidth(row),
        )
        for row in table.iter_rows(named=True)
    )


def _bandwidth(row: dict[str, int]) -> Quantity:
    formula = "size_bytes / duration_ns"
    if not row["sized"]:
        return unavailable("GB/s", formula, "this recording does not say how many bytes were copied")
    if not row["sized_ns"]:
        return unavailable("GB/s", formula, "the copies have no duration")
    return Quantity(
        value=row["bytes"] / row["sized_ns"],
        unit="GB/s",
        formula=formula,
        inputs={"size_bytes": row["bytes"], "duration_ns": row["sized_ns"]},
    )


def _from_summaries(trace: Trace) -> tuple[DomainTotal, ...]:
    """The profiler's own statistics, where no call was kept."""
    rows = trace.table("summaries").filter(~pl.col("domain").is_in(["kernel", "copy", "domain"]))
    table = (
        rows.sort("total_ns", descending=True)
        .group_by("domain", maintain_order=True)
        .agg(
            pl.col("calls").sum(),
            pl.col("total_ns").sum(),
            pl.col("name").first().alias("busiest"),
            pl.col("total_ns").first().alias("busiest_ns"),
        )
    )
    return tuple(
        DomainTotal(
            domain=row["domain"],
            calls=row["calls"] or 0,
            total_ns=round(row["total_ns"] or 0),
            union_ns=round(row["total_ns"] or 0),
            busiest=row["busiest"],
            busiest_ns=round(row["busiest_ns"] or 0),
        )
        for row in table.iter_rows(named=True)
    )
