"""Who the ranks wait for, from the collectives of all of them: what they did between collectives is not gathered."""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.analysis.ranks.build import ranks
from rocm_perf.model.results.ranks import Ranks, Straggler
from rocm_perf.model.trace import Trace

_NOT_GATHERED = (
    "only the collectives of all ranks are looked at together; analyze the recordings of this rank and of a few others "
    "without --cluster to see what it does before it arrives"
)


def late_ranks(job: Trace, unknown: Ranks) -> Ranks:
    """The classes of collectives, and the ranks that come late; why, and where the time of each goes, is that of
    `unknown`."""
    together = ranks(job)
    if together.unavailable:
        return replace(unknown, unavailable=together.unavailable)
    return replace(
        unknown,
        collectives=together.collectives,
        stragglers=tuple(map(_without_cause, together.stragglers)),
        clock_error_ns=together.clock_error_ns,
        unavailable=None,
    )


def _without_cause(straggler: Straggler) -> Straggler:
    return replace(straggler, cause=None, reason=_NOT_GATHERED, evidence=(), repair=None, command="")
