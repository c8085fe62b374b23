"""What a user wants to see of a document, and on what."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf.render.drawings.characters import UNICODE, Characters


@dataclass(frozen=True)
class View:
    """How much to show."""

    top: int | None = None  # rows of each list; None: as many as fit
    full_names: bool = False
    brief: bool = False  # one of several runs
    width: int = 80
    operators_by: str | None = None  # operators as one list in this order; None: as a tree
    characters: Characters | None = None  # what drawings are made of; None: there are none
    bars: Characters = UNICODE  # what bars in tables are made of, in a pipe too
    explain: bool = False  # say how the numbers of sections are made
