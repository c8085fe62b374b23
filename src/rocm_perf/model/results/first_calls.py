"""Calls that cost much once: first uses, initialisation, loading of code."""

from __future__ import annotations

import msgspec


class OneOffCall(msgspec.Struct, frozen=True):
    """Calls of one function that took far longer than it usually does, or that were made a few times only."""

    name: str
    calls: int
    total_ns: int  # inside them, while the GPU ran nothing of the process
    usual_ns: float | None  # median of all other calls; None where there are none
