"""Who the ranks wait for and why, from the collectives of all ranks and what each did between its own."""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.analysis.ranks.build import compared
from rocm_perf.analysis.ranks.stragglers import Insight
from rocm_perf.analysis.ranks.work import Work
from rocm_perf.model.results.ranks import Ranks
from rocm_perf.model.trace import Trace


def late_ranks(job: Trace, work: Work, unknown: Ranks) -> Ranks:
    """What one process says of the ranks, but for what it would be worth to have late ones as fast as the others:
    that takes the calls and kernels of all ranks at once. Where nothing is known, the answer is `unknown`."""
    together = compared(job, Insight(work=lambda _: work, repair=lambda *_: (None, "")))
    return replace(unknown, unavailable=together.unavailable) if together.unavailable else together
