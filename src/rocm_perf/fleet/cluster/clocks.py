"""The collectives of all ranks, matched and on one clock, as reading all ranks at once would have them."""

from __future__ import annotations

from rocm_perf.ingest.ranks.align import on_common_clocks
from rocm_perf.model.trace import Trace


def on_one_clock(job: Trace) -> Trace:
    """What was gathered of all ranks, with collectives numbered alike on all of them and clocks fitted."""
    kinds = dict(job.table("nodes").select("node", "clock").iter_rows())
    return Trace(on_common_clocks({name: job.table(name) for name in job}, kinds), job.run)
