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

_DOMAINS = {"api_calls": "domain", "ops": "category"}  # the column that names the domain


def domain_totals(trace: Trace) -> tuple[DomainTotal, ...]:
    """API domains, framework operators and Python, largest first."""
    return domains_of(call_totals(trace), _unions(trace)) or _from_summaries(trace)


def call_totals(trace: Trace) -> pl.DataFrame:
    """How often each function of each domain was called, and for how long in all."""
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    totals = [
        _events(trace, table)
        .group_by("domain", "name")
        .agg(pl.len().cast(pl.Int64).alias("calls"), length.alias("total_ns"))
        for table in _DOMAINS
    ]
    return pl.concat(totals).collect()


def domains_of(calls: pl.DataFrame, unions: pl.DataFrame) -> tuple[DomainTotal, ...]:
    """The domains of these functions, longest union first. `unions`: domain, union_ns."""
    longest_first = calls.sort("total_ns", "name", descending=[True, False])
    domains = longest_first.group_by("domain", maintain_order=True).agg(
        pl.col("calls").sum(),
        pl.col("total_ns").sum(),
        pl.col("name").first().alias("busiest"),
        pl.col("total_ns").first().alias("busiest_ns"),
    )
    rows = domains.join(unions, on="domain").sort("union_ns", "domain", descending=[True, False])
    return tuple(DomainTotal(**row) for row in rows.iter_rows(named=True))


def _unions(trace: Trace) -> pl.DataFrame:
    """The time of each thread within calls of each domain, summed over the threads."""
    key = ["domain", "node", "pid", "tid"]
    threads = pl.concat(
        [union_ns(_events(trace, table), key).select("domain", "union_ns") for table in _DOMAINS]
    )
    return threads.group_by("domain").agg(pl.col("union_ns").sum())


def _events(trace: Trace, table: str) -> pl.LazyFrame:
    """The usable calls of a table of the timed pass, with their domain."""
    usable = (pl.col("pass_id") == timed_pass(trace)) & (pl.col("end_ns") >= pl.col("start_ns"))
    return (
        trace.lazy(table)
        .filter(usable)
        .select(pl.col(_DOMAINS[table]).alias("domain"), "name", "node", "pid", "tid", "start_ns", "end_ns")
    )


def copy_totals(trace: Trace) -> tuple[CopyTotal, ...]:
    """Copies by direction, longest first."""
    length = pl.col("end_ns") - pl.col("start_ns")
    sized = pl.col("size_bytes").is_not_null()
    size = pl.when(sized.any()).then(pl.col("size_bytes").sum())
    return copies_of(
        timed_copies(trace)
        .group_by("kind")
        .agg(
            pl.len().cast(pl.Int64).alias("copies"),
            length.sum().alias("total_ns"),
            size.alias("size_bytes"),
            length.filter(sized).sum().alias("sized_ns"),
        )
    )


def copies_of(totals: pl.DataFrame) -> tuple[CopyTotal, ...]:
    """The directions of these totals, longest first. `sized_ns` is the time of the copies whose size is known."""
    return tuple(
        CopyTotal(
            kind=row["kind"],
            copies=row["copies"],
            total_ns=row["total_ns"],
            size_bytes=row["size_bytes"],
            bandwidth=_bandwidth(row),
        )
        for row in totals.sort("total_ns", "kind", descending=[True, False]).iter_rows(named=True)
    )


def _bandwidth(row: dict[str, int | None]) -> Quantity:
    formula = "size_bytes / duration_ns"
    size, spent = row["size_bytes"], row["sized_ns"]
    if size is None:
        return unavailable("GB/s", formula, "this recording does not say how many bytes were copied")
    if not spent:
        return unavailable("GB/s", formula, "the copies have no duration")
    return Quantity(
        value=size / spent,
        unit="GB/s",
        formula=formula,
        inputs={"size_bytes": size, "duration_ns": spent},
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
