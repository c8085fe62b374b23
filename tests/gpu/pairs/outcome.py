"""What a recording of a pair's first program projects and claims, beside what the change brought."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl
from msgspec.structs import replace
from tests.gpu.pairs.pair import Action, Pair, Remedy

from rocm_perf.analysis.graph import Graph
from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.path.changes import Change, CopiesAsync, FasterKernels, SyncsRemoved
from rocm_perf.analysis.path.joined import Captured, Fused
from rocm_perf.analysis.path.unprofiled import unprofiled
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.path.wrappers import sync_wrappers
from rocm_perf.analysis.phases.focus import focused
from rocm_perf.errors import RocmPerfError, UsageError
from rocm_perf.model.collection import CollectionRecord
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace

NEAR = 0.10  # of the measured saving
SLIGHT = 0.03  # of the steady state
# The findings whose remedy a change is; those about kernels are told by the kernel's name as well.
_FINDINGS: dict[Action, tuple[str, ...]] = {
    "faster": ("kernel-",),
    "fuse": ("fusion", "unfused-kernels"),
    "graphs": ("host-bound",),
    "hoist-syncs": ("synchronisation",),
    "overlap-copies": ("copies",),
}


@dataclass(frozen=True)
class Walls:
    """A wall time without and with the change, in one unit."""

    before: float
    after: float

    @property
    def saved(self) -> float:
        """The share of the first that the change saves."""
        return 1 - self.after / self.before


@dataclass(frozen=True)
class Outcome:
    """One recording of one pair. Savings are shares of their own walls, for a recorded program takes longer."""

    pair: Pair
    measured: Walls  # us per step
    projected: Walls | None  # ns of the steady state; None where the change has nothing to act on
    findings: tuple[Finding, ...]
    judged_ns: int  # less what the profiler added
    steps: int  # that were found in the recording; 0 where nothing repeats

    @property
    def tolerance(self) -> float:
        return max(NEAR * self.measured.saved, SLIGHT)

    @property
    def is_near(self) -> bool:
        """Whether the projected saving is the measured one, within the tolerance."""
        projected = self.projected.saved if self.projected else 0.0
        return abs(projected - self.measured.saved) <= self.tolerance

    @property
    def is_expected(self) -> bool:
        """Whether the first finding is of a kind that it should be."""
        return bool(self.findings) and self.findings[0].kind in self.pair.kinds

    @property
    def claimed(self) -> float:
        """The most that a finding claims whose worth was measured: one with the pair's own change as its remedy."""
        stakes = (
            finding.time_at_stake_ns or 0 for finding in self.findings if answers(self.pair.remedy, finding)
        )
        return max(stakes, default=0) / self.judged_ns if self.judged_ns else 0.0

    @property
    def claims_too_much(self) -> bool:
        return self.claimed > self.measured.saved + self.tolerance


def answers(remedy: Remedy, finding: Finding) -> bool:
    """Whether the remedy is that of the finding."""
    if not finding.id.startswith(_FINDINGS[remedy.action]):
        return False
    return remedy.action != "faster" or re.search(remedy.kernels, finding.id) is not None


def outcome(pair: Pair, recording: Trace, measured: Walls, factor: float | None) -> Outcome:
    """The projection, with nothing known of the changed program but how much faster its kernels are alone."""
    document = examine(recording, pair.name)
    return Outcome(
        pair=pair,
        measured=measured,
        projected=_projected(pair.remedy, focused(recording), factor),
        findings=document.findings,
        judged_ns=document.judged_ns - max((row.profiler_ns for row in document.projections), default=0),
        steps=document.phases.steps,
    )


def with_launch_cost(recording: Trace, cost_ns: float | None) -> Trace:
    """The recording as the run had it whose record says what its profiler adds to a launch."""
    if cost_ns is None:
        return recording
    record = CollectionRecord(
        run_id="", host="", pid=0, command=(), folder="", started_at="", profiler="", launch_cost_ns=cost_ns
    )
    return recording.described(replace(recording.run, collection=record))


def _projected(remedy: Remedy, steady: Trace, factor: float | None) -> Walls | None:
    graph = unprofiled(steady)
    if graph.empty:
        return None
    try:
        projection = whatif(graph, change(remedy, steady, graph, factor or 1.0))
    except RocmPerfError:
        return None
    return Walls(projection.unprofiled_wall_ns, projection.wall_ns)


def change(remedy: Remedy, trace: Trace, graph: Graph, factor: float) -> Change:
    """The change to the graph that the remedy is."""
    if remedy.action == "faster":
        return FasterKernels(remedy.kernels, factor)
    if remedy.action == "fuse":
        return Fused(repeated_kernels(trace, remedy.kernels), duration_factor=1 / factor)
    if remedy.action == "graphs":
        return Captured()
    if remedy.action == "hoist-syncs":
        return SyncsRemoved(sync_wrappers(trace, graph))
    return CopiesAsync(overlapped=True)


def repeated_kernels(trace: Trace, pattern: str) -> tuple[str, ...]:
    """The names of the matching kernels that most often follow one another; raises UsageError if none match."""
    names = trace.table("dispatches").sort("start_ns").select(name="kernel")
    matches = [re.search(pattern, name) is not None for name in names["name"]]
    runs = (
        names.with_columns(matches=pl.Series(matches, dtype=pl.Boolean))
        .with_columns(run=pl.col("matches").rle_id())
        .filter("matches")
        .group_by("run", maintain_order=True)
        .agg("name")["name"]
        .to_list()
    )
    if not runs:
        raise UsageError(f"no kernel matches {pattern!r}")
    return tuple(max(runs, key=runs.count))
