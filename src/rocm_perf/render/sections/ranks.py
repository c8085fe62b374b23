"""Ranks side by side: who waits, for whom and why, and whether collectives wait or transfer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from rocm_perf.model.document import Document
from rocm_perf.model.results.ranks import CollectiveClasses, Ranks, RankTime, Straggler
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    count,
    explained,
    grids,
    share,
    text,
    time,
)
from rocm_perf.units import format_list, format_ns

_SHOWN = 3


def _some_time(duration_ns: int) -> str:
    return time(duration_ns) if duration_ns else "-"


_RANKS: Columns[RankTime] = (
    explained("delays", time, lambda row: row.delayed_ns, "ranks.delayed_ns"),
    explained("last", count, lambda row: row.last_in, "collectives that it entered last"),
    explained(
        "waits",
        _some_time,
        lambda row: row.waiting_ns,
        "time in a collective before its last rank has come, with no kernel and no copy beside it",
    ),
    explained(
        "transfers",
        _some_time,
        lambda row: row.communicating_ns,
        "time in a collective after that, with no kernel and no copy beside it",
    ),
    explained(
        "computes", _some_time, lambda row: row.computing_ns, "union of its kernels that do not communicate"
    ),
    explained("copies", _some_time, lambda row: row.copying_ns, "union of its copies, less its kernels"),
    explained("loads", _some_time, lambda row: row.loading_ns, "its GPU is idle while its host fetches data"),
    explained("idle", time, lambda row: row.idle_ns, "its GPU is idle otherwise"),
    text("rank", lambda row: row.rank),
)
_CLASSES: Columns[CollectiveClasses] = (
    explained("waited", time, lambda row: row.waited_ns, "ranks.collectives.waited_ns"),
    explained("transfer", time, lambda row: row.transfer_ns, "ranks.collectives.transfer_ns"),
    explained(
        "calls", count, lambda row: row.calls, "collectives of this name and group that several ranks entered"
    ),
    explained("by transfer", count, lambda row: row.transfer, "ranks.collectives.class"),
    explained("by skew", count, lambda row: row.arrival_skew, "ranks.collectives.class"),
    explained("mixed", count, lambda row: row.mixed, "ranks.collectives.class"),
    explained("inconclusive", count, lambda row: row.inconclusive, "ranks.collectives.class"),
    text("collective", lambda row: row.name),
    text("group", lambda row: row.group or ""),
)


def _with_gpus(document: Document) -> tuple[RankTime, ...]:
    """The ranks by the GPUs that they used, as the other sections name them."""
    used = Counter(device.rank for device in document.devices)
    only = {f"rank {device.rank}": device.number for device in document.devices if used[device.rank] == 1}
    return tuple(replace(row, rank=only.get(row.rank, row.rank)) for row in document.ranks.rows)


def ranks_section(document: Document, top: int) -> Section:
    """Where the time of each rank goes, and the class of the collectives."""
    ranks = document.ranks
    if ranks.unavailable:
        return Section("Ranks", unavailable=ranks.unavailable)
    return Section(
        "Ranks",
        lines=tuple(_lines(ranks)),
        grids=(
            *grids("By rank", _with_gpus(document), _RANKS, top),
            *grids("Collectives: waiting for the last rank, or transfer", ranks.collectives, _CLASSES, top),
        ),
        notes=tuple(_notes(ranks)),
    )


def _lines(ranks: Ranks) -> Iterator[str]:
    yield (
        f"{len(ranks.rows)} ranks; {share(ranks.waited_share)} of their time they wait in collectives for the last "
        "rank to come."
    )
    yield from map(_straggler, ranks.stragglers)
    if not ranks.stragglers:
        yield "No rank is later than chance makes one of equals, or its lateness costs less than 3 % of the time."


def _straggler(late: Straggler) -> str:
    who = format_list(late.ranks, _SHOWN)
    cause = late.cause or f"not known ({late.reason})"
    worth = f", re-timed without it {format_ns(late.repair.saved_ns)} less" if late.repair else ""
    return (
        f"{who} delays the others by {format_ns(late.delayed_ns)}; cause: {cause}{worth} (chance of equal ranks: "
        f"{late.chance:.0e})."
    )


def _notes(ranks: Ranks) -> Iterator[str]:
    if ranks.clock_error_ns:
        yield f"clocks of the ranks agree to {format_ns(ranks.clock_error_ns)}; closer arrivals are not told apart"
    if any(row.inconclusive for row in ranks.collectives):
        yield "inconclusive: the error of the clocks may change the class, or not all ranks of the group are recorded"
