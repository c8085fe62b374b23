"""The finding on collectives that take far longer than the links need: what is slow, how that is known, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rocm_perf.analysis.basis.stakes import bound
from rocm_perf.analysis.collectives.bus import factor
from rocm_perf.analysis.collectives.pace import LATENCY_NS
from rocm_perf.analysis.collectives.sizes import message_sizes
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.communication import CollectiveTotal
from rocm_perf.model.vendor import is_amd
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

WORTH = 0.05  # of the windows: what exposed communication must take to be worth a word
_SHOWN = 3
_SAME_TIME = 0.5  # of the ratio of two sizes: the ratio of their times, if size does not decide


def slow_collectives(document: Document) -> Finding | None:
    """The finding, if slow collectives are exposed for long enough."""
    slow = [row for row in document.communication.rows if row.pace in ("slow", "slow or waiting")]
    gpus = max(len(document.devices), 1)
    exposed = sum(row.exposed_ns or 0 for row in slow)
    wall = document.wall_ns or 0
    if not slow or exposed < WORTH * wall * gpus:
        return None
    worst = slow[0]
    arrived = worst.pace == "slow"
    stake = round(sum(_avoidable(row) for row in slow) / gpus)
    return Finding(
        id="slow-collective",
        severity="warning",
        kind="communication",
        title=f"{_library(document)} is slow: {_what(worst)} at {worst.bus_bandwidth.value:.1f} GB/s where the links "
        f"allow {worst.link.value:.0f}" + ("" if arrived else ", unless it waits for other ranks"),
        evidence=(
            f"for {format_share(exposed / (wall * gpus))} of the time a GPU does nothing but take part in them",
            *(_measured(row) for row in slow[:_SHOWN]),
            _links(worst, document),
            *_size_hardly_matters(slow),
            _arrivals(worst),
        ),
        time_at_stake_ns=stake,
        projected_speedup=bound(wall, stake),
        remedy=_remedy(document, arrived=arrived),
    )


def _library(document: Document) -> str:
    return "RCCL" if any(is_amd(agent.gfx) for agent in document.agents) else "NCCL"


def _what(row: CollectiveTotal) -> str:
    return f"{row.name} of {message_sizes(row)}"


def _needed_ns(row: CollectiveTotal) -> float:
    """What the links need for one call."""
    moved = (row.message_bytes or 0) * (factor(row.name, row.group_size) or 0.0)
    return moved / (row.link.value or 1.0)


def _avoidable(row: CollectiveTotal) -> float:
    """The exposed time that calls would lose if they took what the links need, and a fixed cost."""
    share = (_needed_ns(row) + LATENCY_NS) / max(row.transfer_ns or 0, 1)
    return (row.exposed_ns or 0) * max(1 - share, 0.0)


def _measured(row: CollectiveTotal) -> str:
    """The means of size and time, whose quotient is the rate that is said of the row."""
    moved, spent = (row.bandwidth.inputs.get(name, 0) for name in ("message_bytes", "transfer_ns"))
    needed = moved * (factor(row.name, row.group_size) or 0.0) / (row.link.value or 1.0)
    each = f", {format_bytes(round(moved / row.calls))} each" if row.least_bytes != row.message_bytes else ""
    calls = f"{format_count(row.calls, 'call')} of {format_ns(spent / row.calls)}{each} on average"
    need = f"the links need {format_ns(needed / row.calls)} for these bytes"
    return f"{_what(row)} over {format_count(row.group_size or 0, 'rank')}: {calls}; {need}"


def _links(row: CollectiveTotal, document: Document) -> str:
    """What the links allow, and whether the ranks are known to share a machine."""
    links, one = row.link.inputs.get("links"), row.link.inputs.get("link_gbps")
    if links is None or one is None:
        return f"what each GPU can send is stated: {row.link.value:g} GB/s"
    on_one = max(Counter(agent.node for agent in document.agents).values(), default=0)
    known = on_one >= (row.group_size or 0)
    return f"the links of a GPU to the others: {links:g} links of {one:g} GB/s in each direction" + (
        "" if known else ", if the ranks are on one machine"
    )


def _size_hardly_matters(rows: Sequence[CollectiveTotal]) -> Iterator[str]:
    """Of two sizes of one collective, that the larger takes hardly longer: then bandwidth is not what is short."""
    alike = [row for row in rows if (row.name, row.group) == (rows[0].name, rows[0].group)]
    alike.sort(key=lambda row: row.message_bytes or 0)
    for small, large in pairwise(alike):
        sizes = (large.message_bytes or 0) / max(small.message_bytes or 0, 1)
        times = (large.transfer_ns or 0) / max(small.transfer_ns or 0, 1)
        if sizes >= 2 and times <= _SAME_TIME * sizes:
            yield (
                f"{sizes:.1f} times the bytes take {times:.1f} times as long: a wait or a fixed cost rather than a "
                "lack of bandwidth"
            )
            return


def _arrivals(row: CollectiveTotal) -> str:
    if row.pace == "slow":
        return f"times are the shortest over the {row.ranks} ranks: waiting for a late one is not in them"
    return "times are those of a rank, which include waiting for the others: one rank alone cannot tell them apart"


def _remedy(document: Document, *, arrived: bool) -> str:
    """Return what to do: look at the transport, once it is known that no rank comes late."""
    setting = setting_of(document)
    transport = remedy("slow-link", setting)
    if arrived:
        return transport
    ranks = remedy("record-ranks", setting)
    return f"{ranks} If they come together: {transport[0].lower()}{transport[1:]}"
