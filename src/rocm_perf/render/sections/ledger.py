"""The ledger: where the judged time went, in entries that add up to it."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.ledger import CAUSES, Entry
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    explained,
    grids,
    share,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_COLUMNS: Columns[Entry] = (
    explained("share", share, lambda row: row.share, "time of the entry / judged time"),
    explained("time", time, lambda row: row.total_ns, "ledger.entries"),
    explained("times", count, lambda row: row.count, "dispatches, copies or idle intervals of the entry"),
    text("what", lambda row: CAUSES.get(row.cause, row.cause)),
    code("where", lambda row: row.place),
    text("how it is known", lambda row: "; ".join((row.certainty, *row.evidence))),
)


def ledger_section(document: Document, top: int) -> Section:
    """Every entry of the ledger, most time first."""
    ledger = document.ledger
    if ledger.unavailable:
        return Section("Ledger", unavailable=ledger.unavailable)
    gpus = format_count(len(ledger.gpus), "GPU")
    lines = [f"{format_ns(ledger.judged_ns)} of {gpus} together, each moment counted once."]
    if ledger.idle_unknown:
        lines.append(f"Idle time is left out: {ledger.idle_unknown}.")
    return Section("Ledger", lines=tuple(lines), grids=grids("", ledger.entries, _COLUMNS, top))
