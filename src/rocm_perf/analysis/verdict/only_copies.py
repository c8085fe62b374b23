"""What is said of recordings that hold copies and no kernel."""

from __future__ import annotations

from rocm_perf.analysis.idle.copies_alone import CopiesAlone, copies_alone
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.totals import copy_totals
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns

_SHOWN = 3


def only_copies(trace: Trace) -> Finding | None:
    """That kernels are not in a recording of copies; None where their launches are, which say more."""
    alone = copies_alone(trace)
    if alone is None or alone.launches:
        return None
    return Finding(
        id="only-copies",
        severity="warning",
        kind="unrecorded-work",
        title=f"{_what(trace)} recorded and no kernel: what ran beside that is not in the recording",
        evidence=(_copies(trace), *_calls(alone)),
        remedy=remedy("record-gpu", setting(trace)),
    )


def _what(trace: Trace) -> str:
    """Return what was recorded, copies or nothing but fills."""
    fills = all(row.kind == "MEMSET" for row in copy_totals(trace))
    return "Only fills were" if fills else "Copies were"


def _copies(trace: Trace) -> str:
    return ", ".join(
        f"{row.copies:,} {row.kind} in {format_ns(row.total_ns)}" for row in copy_totals(trace)[:_SHOWN]
    )


def _calls(alone: CopiesAlone) -> list[str]:
    """What the calls of the host show, where they were recorded."""
    if not alone.calls:
        return []
    none = f"{format_count(alone.calls, 'call')} of the host, and no launch of a kernel among them"
    if not alone.lacks_calls:
        return [none]
    absent = alone.ids_in_range - alone.ids
    return [f"{none}; {absent:,} of {alone.ids_in_range:,} correlation ids are missing: calls were left out"]
