"""Communication between GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf.model.document import Document
from rocm_perf.model.results.communication import CollectiveTotal, Communication, Traffic
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    count,
    explained,
    grids,
    known,
    number,
    rate,
    share,
    size,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_PACES = {
    "link": "as the link allows",
    "latency": "small: fixed cost",
    "mixed": "fixed cost and link",
    None: "",
}
_TIMES: Columns[CollectiveTotal] = (
    explained("time", time, lambda row: row.total_ns, "sum of (end_ns - start_ns) over these collectives"),
    explained("exposed", time, lambda row: row.exposed_ns, "communication.rows.exposed_ns"),
    explained("calls", count, lambda row: row.calls, "collectives of this kind, each once per rank"),
    explained("size", size, lambda row: row.message_bytes, "the largest message of this kind"),
    text("collective", lambda row: row.name),
    text("ranks", lambda row: known(row.group_size) if row.group_size else ""),
    text("group", lambda row: row.group or ""),
    text("type", lambda row: row.dtype or ""),
    text("kernel", lambda row: row.algorithm or ""),
)
_SPEEDS: Columns[CollectiveTotal] = (
    explained("size", size, lambda row: row.message_bytes, "the largest message of this kind"),
    explained("transfer", time, lambda row: row.transfer_ns, "communication.rows.transfer_ns"),
    explained("GB/s", rate, lambda row: row.bandwidth),
    explained("bus GB/s", rate, lambda row: row.bus_bandwidth),
    explained("link GB/s", rate, lambda row: row.link),
    text("collective", lambda row: row.name),
    text("pace", lambda row: _PACES.get(row.pace, row.pace or "")),
)


@dataclass(frozen=True)
class _Sender:
    """What one rank, or several neighbours, sent and received."""

    rank: int
    sent: int
    received: int
    most: int
    most_to: int


_SENDERS: Columns[_Sender] = (
    number("rank", lambda row: str(row.rank)),
    explained("sent", size, lambda row: row.sent, "sum over the receivers"),
    explained("received", size, lambda row: row.received, "sum over the senders"),
    explained("most", size, lambda row: row.most, "the largest sum for one receiver"),
    number("to rank", lambda row: str(row.most_to)),
)


def _senders(traffic: Traffic | None) -> list[_Sender]:
    if traffic is None:
        return []
    received = [sum(column) for column in zip(*traffic.sent_bytes, strict=True)]
    return [
        _Sender(
            rank=rank, sent=sum(row), received=into, most=max(row), most_to=traffic.ranks[row.index(max(row))]
        )
        for rank, row, into in zip(traffic.ranks, traffic.sent_bytes, received, strict=True)
    ]


def communication_section(document: Document, top: int) -> Section:
    """How long collectives ran, how much of that nothing else overlapped, and how fast they were."""
    result = document.communication
    if result.unavailable and not result.rows:
        return Section("Communication", unavailable=result.unavailable)
    lines = (
        f"{format_count(result.kernels, 'communication kernel')} ran for {format_ns(result.busy_ns)}; for "
        f"{format_ns(result.exposed_ns)} of that ({share(result.exposed_share)} of the GPUs' time) nothing else ran.",
    )
    return Section(
        "Communication",
        lines=lines if result.kernels else (),
        grids=(
            *grids("", result.rows, _TIMES, top),
            *grids("how fast", [row for row in result.rows if row.bandwidth.known], _SPEEDS, top),
            *grids("who sends how much", _senders(result.traffic), _SENDERS, top),
        ),
        notes=tuple(_notes(result)),
    )


def _notes(result: Communication) -> list[str]:
    """What the columns mean, and why one is empty."""
    rows = result.rows
    notes = []
    if any(row.bus_bandwidth.value is not None for row in rows):
        notes.append(
            "GB/s: size over transfer; bus: what crosses each GPU's links, as nccl-tests counts it; link: what they "
            "allow in one direction"
        )
    sized = [row for row in rows if row.bandwidth.known]
    if sized and all(row.ranks == 1 for row in sized):
        notes.append("transfer: the time that a rank was in a call, waiting for the others included")
    if any(row.algorithm for row in rows):
        notes.append("kernel: as its name says; NCCL runs other protocols in kernels that it names LL")
    missing = [row.link.unavailable for row in rows if row.bus_bandwidth.value is not None]
    reasons = dict.fromkeys(reason for reason in missing if reason)
    return notes + [f"link unknown: {reason}" for reason in reasons]
