"""The gates that need nothing but the text of a candidate, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.optimize.candidate import Candidate
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.precision import precision_passage
from rocm_perf.optimize.guards.safety import safety_passage
from rocm_perf.optimize.guards.text import text_passage


def looks(
    candidate: Candidate, old: bytes, new: bytes, kernel: str, *, allow_fast_math: bool
) -> Iterator[Passage]:
    """How a candidate fares at `text`, `safety` and `precision`, against the text that it changes."""
    if "text" not in candidate.allows:
        yield text_passage(old, new, kernel)
    yield safety_passage(old, new, kernel)
    yield precision_passage(old, new, kernel, flags=candidate.flags, allowed=allow_fast_math)
