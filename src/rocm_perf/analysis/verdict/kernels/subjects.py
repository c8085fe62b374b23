"""The kernels that hold the time, as a reader names them: all instances of one short name are one subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.bottleneck.nature import streams
from rocm_perf.analysis.time.families import family
from rocm_perf.model.document import Document
from rocm_perf.model.results.bottleneck import Bottleneck, Evidence, Label
from rocm_perf.model.results.path import KernelOnPath
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.model.results.times import Hotspot


@dataclass(frozen=True)
class Subject:
    """Kernels of one name, and everything that is known of them, the costliest instance first."""

    name: str
    spots: tuple[Hotspot, ...]
    held: tuple[Bottleneck, ...]
    points: tuple[KernelRoofline, ...]
    on_path: tuple[KernelOnPath, ...]
    share: float  # of the kernel time

    @property
    def total_ns(self) -> int:
        return sum(spot.total_ns for spot in self.spots)

    @property
    def calls(self) -> int:
        return sum(spot.calls for spot in self.spots)

    @property
    def kernels(self) -> frozenset[str]:
        return frozenset(spot.kernel for spot in self.spots)

    @property
    def family(self) -> str:
        return family(self.spots[0].kernel).name

    @property
    def library(self) -> str:
        return family(self.spots[0].kernel).library

    @property
    def main(self) -> Bottleneck | None:
        """What holds back the costliest instance of which a cause is known, or the costliest."""
        caused = (row for row in self.held if row.label or row.suspect)
        return next(caused, self.held[0] if self.held else None)

    @property
    def label(self) -> Label | None:
        """What holds it back: what one plain sign points to, or what is proven."""
        if self.main is None:
            return "memory bandwidth" if streams(self.spots[0].kernel) else None
        return self.main.suspect or self.main.label

    def evidence(self, name: str) -> Evidence | None:
        """One measurement of the instance that speaks for all."""
        nature = streams(self.spots[0].kernel)
        measured = self.main.evidence if self.main else ([nature] if nature else [])
        return next((evidence for evidence in measured if evidence.name == name), None)

    def saved_ns(self, share: float) -> int:
        """What the wall loses if every dispatch loses this share of its time, as far as the graph can tell."""
        if not self.on_path:
            return round(share * self.total_ns)
        return round(min(share * self.total_ns, 10 * share * sum(row.impact_ns for row in self.on_path)))


def subjects(document: Document) -> list[Subject]:
    """All kernels of a recording, those with most time first; collectives wait for others and are not among them."""
    total = sum(spot.total_ns for spot in document.hotspots.rows)
    groups: dict[str, list[Hotspot]] = {}
    for spot in document.hotspots.rows:
        if family(spot.kernel).name != "collective":
            groups.setdefault(short_name(spot.kernel), []).append(spot)
    listed = [_subject(document, name, spots, total) for name, spots in groups.items()]
    return sorted(listed, key=lambda subject: -subject.total_ns)


def _subject(document: Document, name: str, spots: Sequence[Hotspot], total_ns: int) -> Subject:
    kernels = {spot.kernel for spot in spots} | {name}  # hotspots may be grouped by short name
    spent = sum(spot.total_ns for spot in spots)

    def belongs(kernel: str) -> bool:
        return kernel in kernels or short_name(kernel) == name

    return Subject(
        name=name,
        spots=tuple(spots),
        held=tuple(row for row in document.bottlenecks.kernels if belongs(row.kernel)),
        points=tuple(row for row in document.roofline.kernels if belongs(row.kernel)),
        on_path=tuple(row for row in document.path.by_kernel if belongs(row.kernel)),
        share=spent / total_ns if total_ns else 0.0,
    )
