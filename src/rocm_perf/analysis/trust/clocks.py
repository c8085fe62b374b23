"""How well the clocks of several ranks were brought together: what the merge of their recordings left in `clocks`."""

from __future__ import annotations

from rocm_perf.model.results.clocks import Clocks, RankClock
from rocm_perf.model.trace import Trace

FORMULAS = {
    "clocks.rows.error_ns": "0.95 quantile of |end - median end of the same collective over all ranks|, of the "
    "collectives that the fit of offset and drift rests on",
}


def clocks(trace: Trace) -> Clocks:
    """The clock of each rank, and the largest error of those that can be compared."""
    table = trace.table("clocks")
    if not table.height:
        return Clocks(
            unavailable="the recording is of one process, or does not say which rank each process is"
        )
    hosts = trace.table("nodes").select("node", "host")
    rows = table.join(hosts, on="node", how="left", maintain_order="left").sort(
        "rank", "pid", nulls_last=True
    )
    main = (
        rows.group_by("domain", maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    )
    together = rows.filter(domain=main["domain"][0])
    error = together["error_ns"].max()
    return Clocks(
        rows=tuple(_rank_clock(row) for row in rows.iter_rows(named=True)),
        error_ns=error if isinstance(error, float) else None,
        apart=rows.height - together.height,
    )


def _rank_clock(row: dict[str, object]) -> RankClock:
    names = ("rank", "pid", "domain", "offset_ns", "drift_ppm", "error_ns", "basis", "reason")
    machine = str(row["host"] or f"node {row['node']}")
    return RankClock(
        machine=machine,
        collectives=row["collectives"] or 0,  # type: ignore[arg-type]
        **{name: row[name] for name in names},  # type: ignore[arg-type]
    )
