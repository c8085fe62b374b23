"""A proposed change of a source file. Nothing here reads, builds or runs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rocm_perf.errors import UsageError
from rocm_perf.model.results.optimize import Geometry

# What holds a kernel back: which transforms are tried, and in which order, follows from it.
Cause = Literal["memory", "latency", "occupancy", "lds", "compute", "unknown"]


@dataclass(frozen=True, order=True)
class Edit:
    """Bytes of a source text to be replaced."""

    start: int
    end: int
    text: bytes


@dataclass(frozen=True)
class Candidate:
    """A change of one kernel."""

    name: str  # "unroll by 4: loop in line 31"
    by: str  # the transform or the proposer that made it
    edits: tuple[Edit, ...] = ()
    flags: tuple[str, ...] = ()  # options that are added for the compiler
    geometry: Geometry | None = None  # None: launched as before
    allows: frozenset[str] = (
        frozenset()
    )  # gates that its transform proved by its own guards: "text" for a launch
    is_foreign: bool = False  # from a patch or a proposer: nobody says that it is right for every argument

    def applied_to(self, text: bytes) -> bytes:
        """The source with the change."""
        return applied(text, self.edits)


@dataclass(frozen=True)
class Refused:
    """A change that a transform could have made, and why it must not."""

    name: str
    by: str
    reason: str


def applied(text: bytes, edits: Iterable[Edit]) -> bytes:
    """The text with every edit made. Edits may meet and must not overlap."""
    parts, position = [], 0
    for edit in sorted(edits):
        if edit.start < position or edit.end < edit.start or edit.end > len(text):
            raise UsageError("edits of a candidate overlap, or lie outside of the source")
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return b"".join((*parts, text[position:]))


def unified_diff(old: bytes, new: bytes, name: str) -> str:
    """What changes, as `diff -u` shows it."""
    before, after = (text.decode(errors="replace").splitlines(keepends=True) for text in (old, new))
    return "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))
