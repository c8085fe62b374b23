"""The timeline of a run that was recorded in windows: that of one of them, because nothing is known between two."""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.analysis.basis.recorded import fullest_part
from rocm_perf.analysis.phases.build import phases
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace


def shown_part(trace: Trace, document: Document) -> tuple[Trace, Document, tuple[str, ...]]:
    """What is shown over time, with a note where that is one window of several: the one with most kernel time."""
    part = fullest_part(trace)
    if part is None:
        return trace, document, ()
    note = f"Window {part.number} of {document.windows.recorded} alone ({part.window}): --window A..B shows another."
    return part.trace, replace(document, phases=phases(part.trace)), (note,)
