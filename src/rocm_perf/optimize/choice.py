"""Which kernel is worth the work: by what it costs the steady state, and what its roof leaves to gain. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.model.document import Document
from rocm_perf.model.results.bottleneck import Bottleneck, Label
from rocm_perf.model.results.path import KernelOnPath
from rocm_perf.optimize.candidate import Cause

_CAUSES: Mapping[Label, Cause] = {
    "compute": "compute",
    "memory bandwidth": "memory",
    "memory latency": "latency",
    "LDS": "lds",
    "scratch": "occupancy",
    "occupancy": "occupancy",
    "launch/latency": "latency",
    "divergence": "compute",
    "waiting": "latency",
}


@dataclass(frozen=True)
class Prospect:
    """A kernel of the program, and what a better one is worth."""

    kernel: str  # as recorded
    share: float  # of the critical path
    cause: Cause
    because: str  # what says so
    roof_share: float | None  # of the roof that it reaches; None: not known
    wall_ns: int
    saved_ns: float  # of the wall at the very most: at its roof, or gone where no roof is known
    basis: str

    @property
    def best_case(self) -> float:
        """The speedup of the program at the very most."""
        return self.wall_ns / max(self.wall_ns - self.saved_ns, 1.0)


def prospects(document: Document, kernels: Sequence[str] | None = None) -> tuple[Prospect, ...]:
    """Every kernel that was recorded, or those of the given names (as the source has them), the most to gain first."""
    rows = [row for row in document.path.by_kernel if kernels is None or plain_name(row.kernel) in kernels]
    found = (_prospect(document, row) for row in rows)
    return tuple(sorted(found, key=lambda one: -one.saved_ns))


def plain_name(kernel: str) -> str:
    """The name of a recorded kernel as its source has it: without namespaces and template arguments."""
    return short_name(kernel).partition("<")[0]


def _prospect(document: Document, row: KernelOnPath) -> Prospect:
    roof = _roof_share(document, row.kernel)
    cause, because = _cause(document, row.kernel)
    left = 1.0 if roof is None else max(1.0 - roof, 0.0)
    return Prospect(
        kernel=row.kernel,
        share=row.critical_path_score,
        cause=cause,
        because=because,
        roof_share=roof,
        wall_ns=document.path.wall_ns,
        saved_ns=row.whole_ns * left,
        basis="without the kernel" if roof is None else "with the kernel at its roof",
    )


def _roof_share(document: Document, kernel: str) -> float | None:
    points = [point for point in document.roofline.kernels if point.kernel == kernel]
    value = points[0].percent_of_roof.value if points else None
    return None if value is None else min(value / 100, 1.0)


def _cause(document: Document, kernel: str) -> tuple[Cause, str]:
    """What holds the kernel back: by its label, else by what a single kind of evidence points to."""
    for row in document.bottlenecks.kernels:
        if row.kernel == kernel and row.label:
            return _CAUSES[row.label], _told(row)
        if row.kernel == kernel and row.suspect:
            says = {one.name: one.says for one in row.evidence}
            told = says.get(row.because or "", "one measurement")
            return _CAUSES[row.suspect], f"{told}; that points to it, but does not prove it"
    return "unknown", "the recording does not say what holds it back"


def _told(row: Bottleneck) -> str:
    """What the measurements behind the label say, in words."""
    names = next(one.score.inputs for one in row.scores if one.label == row.label)
    return "; ".join(one.says for one in row.evidence if one.name in names) or row.reason
