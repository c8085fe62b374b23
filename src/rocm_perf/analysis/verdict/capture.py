"""What is said of a recording of the capture of graphs: its launches ran nothing, so it tells nothing about speed."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.trust.lost import captures
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns

_MOST = 0.5  # of the launches


def only_captured(trace: Trace) -> Finding | None:
    """Return that graphs were captured and nothing else happened: most launches went into a graph, none was replayed,
    and the GPU works for less than the captures last. A program that captures and then runs replays its graphs."""
    found = captures(trace)
    if found is None or found.replays or found.launches <= _MOST * (found.launches + found.others):
        return None
    work = launched_work(trace)
    worked_ns = int((work["end_ns"] - work["start_ns"]).sum())
    if worked_ns >= found.spent_ns:
        return None
    every = format_count(found.launches + found.others, "launch", "launches")
    return Finding(
        id="graph-capture",
        severity="info",
        kind="startup",
        title=f"The capture of {format_count(found.graphs, 'graph')}: {found.launches:,} of {every} were recorded into "
        f"{'it' if found.graphs == 1 else 'them'} and ran nothing",
        evidence=(
            f"{found.call}, and what follows up to the end of the capture: {format_ns(found.spent_ns)} in all",
            _ran(work, worked_ns),
            "it is made once, and an empty GPU is no idle time here: nothing is told about the speed of replays",
        ),
        remedy=remedy("graph-capture", setting(trace)),
    )


def _ran(work: pl.DataFrame, worked_ns: int) -> str:
    kernels = int((work["kind"] == "kernel").sum())
    others = work.height - kernels
    beside = f" and {format_count(others, 'copy', 'copies')}" if others else ""
    return f"beside that ran {format_count(kernels, 'kernel')}{beside}, {format_ns(worked_ns)} in all"
