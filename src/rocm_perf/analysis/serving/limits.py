"""What holds a kind of step back: its kernels, or what keeps the GPU idle meanwhile. `--step-kind` has the whole
verdict; this is how it would begin."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches
from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers
from rocm_perf.analysis.bottleneck.build import bottlenecks
from rocm_perf.analysis.idle.gap_causes import CAUSES
from rocm_perf.analysis.idle.gaps import gpu_gaps
from rocm_perf.analysis.roofline.build import Machines
from rocm_perf.analysis.serving.part import of_kind
from rocm_perf.analysis.verdict.ranking import UNKNOWN
from rocm_perf.model.finding import Kind
from rocm_perf.model.results.gaps import CAUSE_NAMES
from rocm_perf.model.step_kinds import StepKind
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_share

_KINDS_OF_CAUSES: dict[str, Kind] = {
    "host_sync": "sync",
    "host_api": "host-bound",
    "copy": "copies",
    "framework": "host-bound",
    "loading": "host-bound",
    "host_busy": "host-bound",
    "launch_latency": "host-bound",
    "event": "host-bound",
    "collective": "communication",
    "queue_gap": "host-bound",
    "unrecorded": "unrecorded-work",
    "nothing_recorded": "cannot-tell",
}
_MOST = 0.5  # of the kernel time: a label that covers less is not what holds the kernels back


class Limit(NamedTuple):
    """What holds the steps back, and the largest part of it; no kind where that is not known."""

    kind: Kind | None
    because: str


NO_LIMIT = Limit(None, "")


def limit_of(trace: Trace, kind: StepKind, steps: pl.DataFrame, machines: Machines = ()) -> Limit:
    """The limit of the steps of a kind. As in the verdict: what makes the GPU idle comes first where it takes more than
    a third of the kernels' time."""
    busy_ns = int(steps["busy_ns"].sum())
    total_ns = int((steps["done_ns"] - steps["begin_ns"]).sum())
    if not busy_ns:
        return NO_LIMIT
    if total_ns - busy_ns > UNKNOWN * busy_ns or _gpus(trace) > 1:
        return _limit_of_part(of_kind(trace, kind), total_ns, busy_ns, machines)
    # Whatever makes its one GPU idle takes less; and the kernels of all are those of the kind, if it has as many.
    are_all = int(steps["kernels"].sum()) == timed_dispatches(trace).height
    return Limit("kernel", _label(trace if are_all else of_kind(trace, kind), machines))


def _gpus(trace: Trace) -> int:
    """How many GPUs worked."""
    work = pl.concat(
        rows.select("node", "agent_id") for rows in (timed_dispatches(trace), timed_copies(trace))
    )
    return work.n_unique()


def _limit_of_part(part: Trace, total_ns: int, busy_ns: int, machines: Machines) -> Limit:
    """The limit of a recording cut to one kind of step, which takes `total_ns`, of which a GPU works `busy_ns`."""
    idle = _idle_ns(part)
    idle["host_busy"] += max(
        total_ns - busy_ns - sum(idle.values()), 0
    )  # before the first and after the last work
    by_kind: Counter[Kind] = Counter()
    for cause, spent in idle.items():
        by_kind[_KINDS_OF_CAUSES[cause]] += spent
    kind, most = by_kind.most_common(1)[0]
    if most <= UNKNOWN * busy_ns or idle_is_the_profilers(part):
        return Limit("kernel", _label(part, machines))
    cause, spent = max(
        (pair for pair in idle.items() if _KINDS_OF_CAUSES[pair[0]] == kind), key=lambda pair: pair[1]
    )
    return Limit(kind, f"{CAUSE_NAMES[cause]} {format_share(spent / sum(idle.values()))} of the idle time")


def _idle_ns(part: Trace) -> dict[str, int]:
    """The idle time of the GPUs by cause."""
    return dict(gpu_gaps(part).select(pl.col(CAUSES).sum()).row(0, named=True))


def _label(part: Trace, machines: Machines) -> str:
    """What holds most of the kernels back, where measurements say so."""
    times: Counter[str] = Counter()
    for row in bottlenecks(part, machines=machines).kernels:
        if row.label:
            times[row.label] += row.total_ns
    kernels = timed_dispatches(part)
    spent = int((kernels["end_ns"] - kernels["start_ns"]).sum())
    label, most = times.most_common(1)[0] if times else ("", 0)
    return label if most > _MOST * spent else ""
