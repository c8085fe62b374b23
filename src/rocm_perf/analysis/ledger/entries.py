"""Put the ledger together: where the judged time of each GPU went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

import polars as pl

from rocm_perf.analysis.basis.launched import GPU, launched_work
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.profiled_times import only_lengths
from rocm_perf.analysis.idle.gaps import idle_doubt
from rocm_perf.analysis.ledger.busy import busy_time
from rocm_perf.analysis.ledger.idle import BEFORE_A_COPY, idle_time
from rocm_perf.analysis.time.hotspots import hotspots
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.results.ledger import Certainty, Entry, EntryKind, GpuLedger, Ledger
from rocm_perf.model.trace import Trace

FORMULAS = {
    "ledger.entries": "each moment of the judged time counts once, for the first of these: a kernel (of several, the "
    "one that began first), a collective, a copy, a fill; else for the cause of the idle time. The entries add up to "
    "the judged time",
}
_KERNELS = 40  # told apart; the others are told by family
_DETAILS = 5  # of an entry that are kept
_COPIES = {
    "H2D": "copying-to-gpu",
    "D2H": "copying-to-host",
    "D2D": "copying-within-gpu",
    "P2P": "copying-between-gpus",
}
_INFERRED = ("launching", "queue-gaps", "stream-dependency", "unrecorded-work", "profiler")
_UNKNOWN = ("not-recorded", "end-of-work")


def ledger(trace: Trace) -> Ledger:
    """Return where the judged time of each GPU went."""
    if not launched_work(trace).height:
        return _of_sums(trace)
    doubt = idle_doubt(trace)
    rows = _rows(busy_time(trace), trace, idle=doubt is None)
    gpus = tuple(
        _gpu(node, agent_id, list(own))
        for (node, agent_id), own in groupby(
            rows.iter_rows(named=True), key=lambda row: (row["node"], row["agent_id"])
        )
    )
    return together(gpus, idle_unknown=doubt)


def together(gpus: Sequence[GpuLedger], *, idle_unknown: str | None = None) -> Ledger:
    """Return the ledger of these GPUs, and of all of them together."""
    whole_ns = sum(gpu.judged_ns for gpu in gpus)
    entries = [entry for gpu in gpus for entry in gpu.entries]
    return Ledger(
        judged_ns=whole_ns,
        entries=added(entries, whole_ns),
        gpus=tuple(gpus),
        idle_unknown=idle_unknown,
    )


def all_ledgers(parts: Sequence[Ledger]) -> Ledger:
    """Return the ledger of all parts of a recording: each GPU with the time that it has in them."""
    known = [part for part in parts if not part.unavailable]
    if not known:
        return parts[0]
    by_gpu: dict[tuple[int, int | None], list[GpuLedger]] = {}
    for gpu in (gpu for part in known for gpu in part.gpus):
        by_gpu.setdefault((gpu.node, gpu.agent_id), []).append(gpu)
    gpus = [_one_gpu(own) for own in by_gpu.values()]
    return together(gpus, idle_unknown=next((part.idle_unknown for part in known if part.idle_unknown), None))


def _one_gpu(parts: Sequence[GpuLedger]) -> GpuLedger:
    whole_ns = sum(part.judged_ns for part in parts)
    entries = added((entry for part in parts for entry in part.entries), whole_ns)
    return GpuLedger(parts[0].node, parts[0].agent_id, whole_ns, entries)


def added(entries: Iterable[Entry], whole_ns: int) -> tuple[Entry, ...]:
    """Return the entries, those of one kind, cause and place as one, most time first."""
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.kind, entry.cause, entry.place), []).append(entry)
    sums = [_sum(alike, whole_ns) for alike in groups.values()]
    return tuple(sorted(sums, key=lambda entry: (-entry.total_ns, entry.kind, entry.cause, entry.place)))


def _sum(alike: Sequence[Entry], whole_ns: int) -> Entry:
    first = max(alike, key=lambda entry: entry.total_ns)
    total_ns = sum(entry.total_ns for entry in alike)
    return Entry(
        kind=first.kind,
        cause=first.cause,
        place=first.place,
        total_ns=total_ns,
        count=sum(entry.count for entry in alike),
        share=total_ns / whole_ns if whole_ns else 0.0,
        certainty=first.certainty,
        family=first.family,
        parts=_parts((part, ns) for entry in alike for part, ns in entry.parts.items()),
    )


def _parts(timed: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the time of each part, most first."""
    sums: Counter[str] = Counter()
    for part, ns in timed:
        sums[part] += ns
    return dict(sums.most_common(_DETAILS))


def _rows(busy: pl.DataFrame, trace: Trace, *, idle: bool) -> pl.DataFrame:
    """Return all time of all GPUs, ordered by GPU: kind, cause, place, family, detail, ns and count."""
    working = busy.select(
        *GPU, kind="level", name="name", ns="alone_ns", count="count", cause=pl.lit(""), detail=pl.lit("")
    )
    resting = idle_time(trace).select(
        *GPU, "cause", "detail", "ns", kind=pl.lit("idle"), name="place", count="gaps"
    )
    table = pl.concat([working, resting.select(working.columns)]) if idle else working
    return table.sort(
        *GPU, "ns", "kind", "name", descending=[False, False, True, False, False], nulls_last=True
    )


def _gpu(node: int, agent_id: int | None, rows: list[dict[str, object]]) -> GpuLedger:
    whole_ns = sum(int(row["ns"]) for row in rows)  # type: ignore[call-overload]
    kernels = [row for row in rows if row["kind"] == "kernel"]
    apart = {id(row) for row in kernels[:_KERNELS]}
    entries: list[Entry] = []
    for row in rows:
        if row["kind"] == "idle":
            continue
        entries.append(_busy_entry(row, told=row["kind"] != "kernel" or id(row) in apart))
    entries += _idle_entries([row for row in rows if row["kind"] == "idle"])
    return GpuLedger(
        node, agent_id, whole_ns, added((entry for entry in entries if entry.total_ns), whole_ns)
    )


def _busy_entry(row: dict[str, object], *, told: bool) -> Entry:
    kind: EntryKind = row["kind"]  # type: ignore[assignment]
    name = str(row["name"])
    of_kernel = family(name).name if kind in ("kernel", "communication") else ""
    if kind == "copy":
        direction = name.removeprefix("copy ")
        cause, place = _COPIES.get(direction, "copying"), direction
    elif kind == "fill":
        cause, place = "filling", ""
    elif kind == "communication":
        cause, place = "communicating", short_name(name)
    else:
        cause, place = "running", short_name(name) if told else f"other {of_kernel} kernels"
    return Entry(
        kind=kind,
        cause=cause,
        place=place,
        total_ns=int(row["ns"]),  # type: ignore[call-overload]
        count=int(row["count"]),  # type: ignore[call-overload]
        share=0.0,
        certainty="measured",
        family=of_kernel,
    )


def _idle_entries(rows: list[dict[str, object]]) -> list[Entry]:
    """Return one entry for each cause and place, with the details that hold most of it as evidence."""
    groups: dict[tuple[str, str], list[dict[str, object]]] = {}
    for row in rows:
        groups.setdefault((str(row["cause"]), str(row["name"])), []).append(row)
    return [_idle_entry(cause, place, own) for (cause, place), own in groups.items()]


def _idle_entry(cause: str, place: str, rows: list[dict[str, object]]) -> Entry:
    return Entry(
        kind="idle",
        cause=cause,
        place=place,
        total_ns=sum(int(row["ns"]) for row in rows),  # type: ignore[call-overload]
        count=max(int(row["count"]) for row in rows),  # type: ignore[call-overload]
        share=0.0,
        certainty=_certainty(cause, place),
        parts=_parts((str(row["detail"]), int(row["ns"])) for row in rows if row["detail"]),  # type: ignore[call-overload]
    )


def _certainty(cause: str, place: str) -> Certainty:
    if cause in _UNKNOWN or (cause == "host-work" and not place):
        return "unknown"
    return "inferred" if cause in _INFERRED or place == BEFORE_A_COPY else "measured"


def _of_sums(trace: Trace) -> Ledger:
    """Return the ledger of a recording that holds only how long each kernel took in all."""
    spots = hotspots(trace, "full")
    why = only_lengths(trace) or "only sums of kernels were recorded, not when each ran"
    if not spots.rows:
        return Ledger(0, (), (), unavailable="the recording holds no kernel and no copy with times")
    entries = [
        Entry(
            "kernel",
            "running",
            spot.short_name,
            spot.total_ns,
            spot.calls,
            0.0,
            "measured",
            family(spot.kernel).name,
        )
        for spot in spots.rows
    ]
    whole_ns = sum(entry.total_ns for entry in entries)
    return together([GpuLedger(0, None, whole_ns, added(entries, whole_ns))], idle_unknown=why)
