"""The gate `timed`: the launches that were timed left the right result, too. A kernel that does its work only as long
as it believes to be watched is caught here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf.model.results.replay import Verification
from rocm_perf.optimize.gates import Passage
from rocm_perf.replay.verify import Examined
from rocm_perf.units import format_count


@dataclass(frozen=True)
class Timed:
    """What one timed run left in memory."""

    where: str  # dispatch and process
    fault: str = ""  # empty: it is right

    @staticmethod
    def of(examined: Examined | Verification, where: str) -> Timed:
        """Judge what the last run left, by what the original's replays have shown."""
        if isinstance(examined, Verification):
            return Timed(where, examined.reason)
        judgement = examined.judged_dumps("timed")
        if judgement.verdict != "different":
            return Timed(where)
        fault = f"the last timed launch left a wrong result, {judgement.differing_bytes:,} bytes differ"
        return Timed(where, fault)


def timed_passage(timed: Sequence[Timed]) -> Passage:
    """How a candidate fared at the gate."""
    wrong = [one for one in timed if one.fault]
    if wrong:
        return Passage("timed", passed=False, words=f"{wrong[0].where}: {wrong[0].fault}")
    count = format_count(len(timed), "timed run")
    return Passage("timed", passed=True, words=f"the last launch of each of {count} left the right result")
