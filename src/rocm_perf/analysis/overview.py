"""The first answers about a run, as one document."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis import busy, coverage, excerpts, hotspots, sync, totals
from rocm_perf.analysis.hotspots import Grouping
from rocm_perf.model.document import Agent, Document
from rocm_perf.model.trace import Trace
from rocm_perf.version import __version__

FORMULAS = {**hotspots.FORMULAS, **busy.FORMULAS, **totals.FORMULAS, **sync.FORMULAS, **coverage.FORMULAS}


def overview(trace: Trace, label: str, grouping: Grouping = "full") -> Document:
    """Hotspots, busy and idle time, totals and coverage of one run."""
    devices = busy.device_times(trace)
    waiting = sync.sync_time(trace)
    return Document(
        label=label,
        producer=f"rocm-perf {__version__}",
        run=trace.run,
        tables={name: trace.rows(name) for name in trace},
        agents=_gpus(trace),
        wall_ns=busy.wall_ns(trace),
        devices=devices,
        queues=busy.queue_times(trace),
        hotspots=hotspots.hotspots(trace, grouping),
        domains=totals.domain_totals(trace),
        copies=totals.copy_totals(trace),
        sync=waiting,
        findings=tuple(sync.sync_findings(waiting, devices)),
        excerpts=excerpts.excerpts(trace),
        coverage=coverage.coverage(trace),
        formulas=FORMULAS,
    )


def _gpus(trace: Trace) -> tuple[Agent, ...]:
    gpus = trace.table("agents").filter(pl.col("kind").str.to_uppercase().fill_null("GPU") == "GPU")
    return tuple(
        Agent(*row) for row in gpus.select("node", "agent_id", "gfx", "name", "cu_count").iter_rows()
    )
