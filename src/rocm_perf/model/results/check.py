"""The answer to a limit that was set with `--fail-on`."""

from __future__ import annotations

from typing import Literal

import msgspec

Outcome = Literal["passed", "failed", "undecided"]


class Check(msgspec.Struct, frozen=True):
    """One limit. It passes only where it is shown to be kept, and fails only where it is shown to be exceeded."""

    expression: str
    outcome: Outcome
    details: tuple[str, ...]  # what was judged, worst first, or why nothing could be

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"
