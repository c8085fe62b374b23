"""Documents for tests of findings: those of a recording, with results that a test sets itself."""

from __future__ import annotations

from typing import Any

import msgspec

from rocm_perf.analysis.overview import overview
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace


def document(recording: Trace, **results: Any) -> Document:
    """Everything that is said about a recording, but for these results."""
    return msgspec.structs.replace(overview(recording, "recording"), **results)
