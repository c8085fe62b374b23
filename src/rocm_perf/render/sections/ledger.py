"""The ledger: where the judged time went, in entries that add up to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity, ratio
from rocm_perf.model.results.ledger import Entry, EntryKind, GpuLedger, Ledger
from rocm_perf.model.results.times import GpuName, gpu_numbers
from rocm_perf.render.sections.headline import unit
from rocm_perf.render.sections.section import (
    Column,
    Columns,
    Grid,
    Section,
    code,
    explained,
    grids,
    share,
    text,
    time,
)
from rocm_perf.render.time_shares import (
    KINDS,
    cause_name,
    idle_causes,
    kind_ns,
    place_name,
    short_name,
    steps_of_gpus,
)
from rocm_perf.units import format_count, format_ns, format_share

LEAST = 0.005  # of the judged time: smaller entries stand together in the last row
_LEAST_IDLE = 0.02  # of the judged time: less idle time of a cause is not worth a line
_SEVERAL = 2  # causes: a line about one says no more than the sentence above it
_CAUSES = 4  # of idle time that a line names
_DIFFERENT = 0.01  # of the judged time: GPUs that differ by less are told together
_TELLING = 2  # entries whose evidence is told in words
_PLURALS = {"step": "steps", "launch": "launches"}
_KNOWN = {"measured": "recorded", "inferred": "inferred", "unknown": "unknown"}
_KNOWN_LEGEND = (
    "recorded: the recording shows it; inferred: it follows from what happens just before and after; unknown: nothing "
    "recorded says why"
)


@dataclass(frozen=True)
class _Row:
    """An entry, all small entries together, or the sum."""

    share: float | Quantity
    total: Quantity | int
    what: str
    place: str = ""
    known: str = ""


def ledger_section(document: Document, top: int) -> Section:
    """Every entry of half a percent or more, the others together, and their sum."""
    ledger = document.ledger
    if ledger.unavailable:
        return Section("Ledger", unavailable=ledger.unavailable)
    return Section(
        "Ledger",
        lines=tuple(_lines(document)),
        grids=(*_entries(document, top), *_gpus(document, top)),
        notes=tuple(_evidence(ledger)),
    )


def idle_words(ledger: Ledger) -> str:
    """Return the idle time by cause in one line, as shares of the judged time; empty where there is next to none, or
    one cause holds nearly all of it."""
    causes = idle_causes(ledger)
    if ledger.idle_unknown or sum(cause.share >= _LEAST_IDLE for cause in causes) < _SEVERAL:
        return ""
    told = [cause for cause in causes[:_CAUSES] if cause.share >= LEAST] or list(causes[:1])
    rest = sum(cause.share for cause in causes) - sum(cause.share for cause in told)
    words = [f"{cause.name} {format_share(cause.share)}" for cause in told]
    return ", ".join([*words, f"other causes {format_share(rest)}"] if rest >= LEAST else words)


def _lines(document: Document) -> list[str]:
    ledger, steps = document.ledger, document.judged_steps
    gpus = f"{len(ledger.gpus)} GPUs" if len(ledger.gpus) > 1 else "the GPU"
    each = f" of {format_count(steps, unit(document), _PLURALS[unit(document)])}" if steps else ""
    lines = [
        f"The judged time of {gpus}: {format_ns(ledger.judged_ns)}{' in all' * (len(ledger.gpus) > 1)}{each}. "
        "Each moment counts once, for a kernel before anything that runs beside it."
    ]
    if ledger.idle_unknown:
        lines.append(f"Idle time is left out: {ledger.idle_unknown}.")
    return lines


def _entries(document: Document, top: int) -> tuple[Grid, ...]:
    ledger, steps = document.ledger, steps_of_gpus(document)
    shown = [entry for entry in ledger.entries if entry.share >= LEAST][:top]
    rows = [_row(entry, steps) for entry in shown]
    others = len(ledger.entries) - len(shown)
    if others:
        rows.append(_rest(ledger, sum(entry.total_ns for entry in shown), others, steps))
    rows.append(_Row(_part(ledger.judged_ns, ledger), _of_step(ledger.judged_ns, steps), "sum"))
    columns: Columns[_Row] = (
        explained("share", share, lambda row: row.share, "time of the entry / judged time"),
        explained(
            f"per {unit(document)}" if steps else "time", time, lambda row: row.total, "ledger.entries"
        ),
        text("what", lambda row: row.what),
        text("known", lambda row: row.known, legend=_KNOWN_LEGEND),
        code("where", lambda row: row.place),
    )
    return grids("", rows, columns)


def _row(entry: Entry, steps: int) -> _Row:
    total = _of_step(entry.total_ns, steps)
    what = f"idle: {short_name(entry)}" if entry.kind == "idle" else short_name(entry)
    return _Row(entry.share, total, what, place_name(entry), _KNOWN[entry.certainty])


def _rest(ledger: Ledger, shown_ns: int, entries: int, steps: int) -> _Row:
    left_ns = ledger.judged_ns - shown_ns
    formula = "judged time - time of the rows above"
    total = Quantity(left_ns, "ns", formula, {"judged_ns": ledger.judged_ns, "rows above": shown_ns})
    what = format_count(entries, "other entry", "other entries")
    return _Row(_part(left_ns, ledger), _of_step(left_ns, steps) if steps else total, what)


def _part(total_ns: int, ledger: Ledger) -> Quantity:
    return ratio(total_ns, ledger.judged_ns, "time of the row / judged time", "time", "judged_ns")


def _of_step(total_ns: int, steps: int) -> Quantity | int:
    """Return the mean time in a step of one GPU."""
    if not steps:
        return total_ns
    formula = "time of the entry / steps, those of each GPU counted"
    return Quantity(total_ns / steps, "ns", formula, {"total_ns": total_ns, "steps": steps})


def _gpus(document: Document, top: int) -> tuple[Grid, ...]:
    """Return one line for each GPU, where they differ."""
    gpus = document.ledger.gpus
    kinds = [kind for kind in KINDS if any(kind_ns(gpu.entries, kind) for gpu in gpus)]
    if not any(_differ([_kind_share(gpu, kind) for gpu in gpus]) for kind in kinds):
        return ()
    name = gpu_numbers(document.devices)
    columns: Columns[GpuLedger] = (
        *(_kind_column(kind) for kind in kinds),
        explained("judged", time, lambda row: row.judged_ns, "sum of the entries of the GPU"),
        text("GPU", lambda row: _gpu_name(row, name, gpus)),
        text("most idle time", _most_idle),
    )
    return grids("Each GPU", gpus, columns, top)


def _differ(values: Sequence[float]) -> bool:
    return max(values) - min(values) >= _DIFFERENT


def _kind_share(gpu: GpuLedger, kind: EntryKind) -> float:
    return kind_ns(gpu.entries, kind) / gpu.judged_ns if gpu.judged_ns else 0.0


def _kind_column(kind: EntryKind) -> Column[GpuLedger]:
    def of_gpu(row: GpuLedger) -> Quantity:
        formula = f"time of the entries of this kind ({KINDS[kind]}) / judged time of the GPU"
        return ratio(kind_ns(row.entries, kind), row.judged_ns, formula, "time", "judged_ns")

    value: Callable[[GpuLedger], Quantity] = of_gpu
    return explained(KINDS[kind], share, value)


def _gpu_name(gpu: GpuLedger, name: GpuName, gpus: Sequence[GpuLedger]) -> str:
    node = f"node {gpu.node}, " if len({each.node for each in gpus}) > 1 else ""
    return f"{node}{name(gpu.node, gpu.agent_id)}"


def _most_idle(gpu: GpuLedger) -> str:
    idle = [entry for entry in gpu.entries if entry.kind == "idle"]
    return short_name(idle[0]) if idle else "-"


def _evidence(ledger: Ledger) -> list[str]:
    """Return what is known of the longest idle entries, in words."""
    told = [entry for entry in ledger.entries if entry.evidence and entry.share >= LEAST][:_TELLING]
    return [
        f"of the {format_ns(entry.total_ns)} in which {_clause(entry)}: {', '.join(entry.evidence)}"
        for entry in told
    ]


def _clause(entry: Entry) -> str:
    place = f" ({entry.place})" if entry.place else ""
    return f"{cause_name(entry)}{place}"
