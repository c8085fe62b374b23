"""Findings about communication that nothing hides: slow collectives, or the mere time of collectives."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.stakes import bound
from rocm_perf.analysis.collectives.sizes import many_and_small, message_sizes
from rocm_perf.analysis.collectives.slow import WORTH, slow_collectives
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.communication import CollectiveTotal, Communication
from rocm_perf.units import format_count, format_ns, format_share

_SHOWN = 3


def communication_findings(document: Document) -> list[Finding]:
    """Findings about communication that nothing hides, unless it is waiting for a rank that is named."""
    result, wall_ns = document.communication, document.wall_ns
    share = result.exposed_share.value
    if not wall_ns or share is None or result.largest_group == 1 or document.ranks.stragglers:
        return []
    if share < WORTH:
        return []
    return [slow_collectives(document) or _exposed(result, share, document)]


def _exposed(result: Communication, share: float, document: Document) -> Finding:
    gpus = max(len(document.devices), 1)
    exposed = result.exposed_ns // gpus
    steps = document.judged_steps
    small = many_and_small(result.rows[0], steps=steps, gpus=gpus) if result.rows else None
    return Finding(
        id="exposed-communication",
        severity="warning",
        kind="communication",
        title=f"For {format_share(share)} of the time a GPU does nothing but communicate",
        evidence=(
            *([small] if small else []),
            f"{format_ns(result.exposed_ns)} of the {format_ns(result.busy_ns)} in "
            f"{format_count(result.kernels, 'collective kernel')}{_such_as(document)} have no other kernel and no "
            "copy beside them",
            *(_kind(row) for row in result.rows[:_SHOWN]),
        ),
        time_at_stake_ns=exposed,
        projected_speedup=bound(document.wall_ns or 0, exposed),
        remedy=_remedy(document, small=bool(small)),
    )


def _kind(row: CollectiveTotal) -> str:
    """One kind of collectives in a line: calls, time, and how fast, as far as that is known."""
    size = "" if row.message_bytes is None else f" of {message_sizes(row)}"
    bus = "" if row.bus_bandwidth.value is None else f", {row.bus_bandwidth.value:.1f} GB/s on the bus"
    allowed = f" where the links allow {row.link.value:.0f}" if bus and row.link.value else ""
    return f"{row.name}{size}: {format_count(row.calls, 'call')}, {format_ns(row.total_ns)}{bus}{allowed}"


def _remedy(document: Document, *, small: bool) -> str:
    """Return what to do: to overlap helps whatever the reason; what comes first depends on whether it is known."""
    result, setting = document.communication, setting_of(document)
    longest = result.rows[0].pace if result.rows else None
    first = f"{remedy('small-messages', setting)} " if small else ""
    if longest in ("link", "mixed", "latency"):
        return f"{first}They are about as fast as the links allow. {remedy('communicating', setting)}"
    late = remedy("waiting-for-rank" if _all_recorded(document) else "record-ranks", setting)
    if longest == "waiting":
        return f"{first}They send next to nothing, so they wait for other ranks. {late}"
    return f"{first}{late} {remedy('waiting-for-communication', setting)}"


def _all_recorded(document: Document) -> bool:
    """Return whether every rank that takes part is in the recording."""
    ranks = max(document.communication.largest_group or 0, document.run.world_size or 0)
    return 1 < ranks <= len(document.ranks.rows)


def _such_as(document: Document) -> str:
    """The kernel that communicates longest."""
    names = pl.Series([row.kernel for row in document.hotspots.rows], dtype=pl.String)
    talking = names.filter(is_collective(names))
    return f" ({short_name(talking[0])})" if talking.len() else ""
