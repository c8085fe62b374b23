"""The kernels that hold the time, as a reader names them: all instances of one short name are one subject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.bottleneck.element_types import is_f64_product, is_narrow
from rocm_perf.analysis.bottleneck.nature import ADDS_BY_INDEX, streams
from rocm_perf.analysis.limits.catalogue import catalogue
from rocm_perf.analysis.time.conversions import is_conversion
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.document import Document
from rocm_perf.model.results.bottleneck import Bottleneck, Evidence, Label
from rocm_perf.model.results.kernels import Family
from rocm_perf.model.results.limits import Cause
from rocm_perf.model.results.path import KernelOnPath
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.model.results.times import Hotspot

_NARROW = ("f8", "f6", "f4", "i8")  # how the names of such ceilings begin
_MOVERS = ("PyTorch", "inductor", "ggml")

_Row = TypeVar("_Row", Hotspot, Bottleneck, KernelRoofline, KernelOnPath)


class Subject(msgspec.Struct, frozen=True):
    """Kernels of one name, and everything that is known of them, the costliest instance first."""

    name: str
    spots: tuple[Hotspot, ...]
    held: tuple[Bottleneck, ...]
    points: tuple[KernelRoofline, ...]
    on_path: tuple[KernelOnPath, ...]
    share: float  # of the kernel time
    others: int = 0  # names that are one with it, because none of them is large

    @property
    def total_ns(self) -> int:
        return sum(spot.total_ns for spot in self.spots)

    @property
    def calls(self) -> int:
        return sum(spot.calls for spot in self.spots)

    @property
    def pronoun(self) -> str:
        return "they" if self.others else "it"

    @property
    def kernels(self) -> frozenset[str]:
        return frozenset(spot.kernel for spot in self.spots)

    @property
    def kinds(self) -> frozenset[Family]:
        """What its kernels do, and whose they are."""
        return frozenset(family(spot.kernel) for spot in self.spots)

    @property
    def kind(self) -> Family:
        """What its costliest kernel does, and whose that is."""
        return family(self.spots[0].kernel)

    @property
    def family(self) -> str:
        return self.kind.name

    @property
    def library(self) -> str:
        return self.kind.library

    @property
    def moves(self) -> bool:
        """Whether a framework, or a library for itself, uses it to move or clear data, and for nothing else."""
        return self.converts or (self.family == "copy" and self.library in _MOVERS)

    @property
    def converts(self) -> bool:
        """Whether a library of convolutions converts tensors with it."""
        return all(map(is_conversion, self.kernels))

    @property
    def in_double(self) -> bool:
        return all(map(is_f64_product, self.kernels))

    @property
    def is_narrow(self) -> bool:
        """Whether it computes in 8 bits or fewer, as its name or its work says: no type is much narrower."""
        named = all(map(is_narrow, self.kernels))
        computed = [part.ceiling for point in self.points for part in point.work if part.kind == "compute"]
        return named or (bool(computed) and all(name.startswith(_NARROW) for name in computed))

    @property
    def adds_by_index(self) -> bool:
        return any(map(ADDS_BY_INDEX.search, self.kernels))

    @property
    def main(self) -> Bottleneck | None:
        """What holds back the costliest instance of which a cause is known, or the costliest."""
        caused = (row for row in self.held if row.label or row.suspect)
        return next(caused, self.held[0] if self.held else None)

    @property
    def first_cause(self) -> Cause | None:
        """The first cause of its table of units, where it holds for most of its time."""
        first = next((row.limits.causes[0] for row in self.held if row.limits.causes), None)
        if first is None:
            return None
        alike = [row for row in self.held if row.limits.causes and row.limits.causes[0].id == first.id]
        return first if self.is_most(alike) else None

    @property
    def cause(self) -> Cause | None:
        """The same, if it is no mere hint."""
        first = self.first_cause
        return None if first is None or first.certainty == "hint" else first

    @property
    def label(self) -> Label | None:
        """What holds it back: what its units show, what one plain sign points to, or what is proven, of most of its
        time."""
        if self.cause is not None:
            return catalogue()[self.cause.id].label
        if self.main is None:
            return "memory bandwidth" if streams(self.spots[0].kernel) else None
        cause = self.main.suspect or self.main.label
        alike = [row for row in self.held if (row.suspect or row.label) == cause]
        return cause if self.is_most(alike) else None

    def is_most(self, rows: Iterable[Bottleneck | KernelRoofline]) -> bool:
        """Whether these rows of it hold at least half of its time."""
        return 2 * sum(row.total_ns for row in rows) >= self.total_ns

    def evidence(self, name: str) -> Evidence | None:
        """One measurement of the instance that speaks for all."""
        nature = streams(self.spots[0].kernel)
        measured = self.main.evidence if self.main else ([nature] if nature else [])
        return next((evidence for evidence in measured if evidence.name == name), None)

    def saved_ns(self, share: float) -> int:
        """What the wall loses if every dispatch loses this share of its time, as far as the graph can tell."""
        if not self.on_path:
            return round(share * self.total_ns)
        return round(min(share * self.total_ns, sum(_saved_ns(row, share) for row in self.on_path)))


def subjects(document: Document) -> list[Subject]:
    """All kernels of a recording, those with most time first; collectives wait for others and are not among them."""
    total = sum(spot.total_ns for spot in document.hotspots.rows)
    held = _by_name(document.bottlenecks.kernels)
    points, on_path = _by_name(document.roofline.kernels), _by_name(document.path.by_kernel)
    listed = [
        Subject(
            name=name,
            spots=tuple(spots),
            held=tuple(held.get(name, ())),
            points=tuple(points.get(name, ())),
            on_path=tuple(on_path.get(name, ())),
            share=sum(spot.total_ns for spot in spots) / total if total else 0.0,
        )
        for name, spots in _by_name(document.hotspots.rows).items()
        if family(spots[0].kernel).name != "collective"
    ]
    return sorted(listed, key=lambda subject: -subject.total_ns)


def joined(alike: Sequence[Subject]) -> Subject:
    """Kernels of one family as one subject, which has the name of the costliest."""
    first, *_ = alike = sorted(alike, key=lambda one: -one.total_ns)
    return Subject(
        name=first.name,
        spots=tuple(spot for one in alike for spot in one.spots),
        held=tuple(row for one in alike for row in one.held),
        points=tuple(point for one in alike for point in one.points),
        on_path=tuple(row for one in alike for row in one.on_path),
        share=sum(one.share for one in alike),
        others=len(alike) - 1,
    )


def _saved_ns(row: KernelOnPath, share: float) -> float:
    """Between the shares that were re-timed, on a straight line: less is saved the more is saved already, so never more
    than re-timing would give."""
    shares, saved = (0.0, 0.1, 0.5, 1.0), (0, row.impact_ns, row.half_ns, row.whole_ns)
    above = next(number for number, known in enumerate(shares) if number and share <= known)
    part = (share - shares[above - 1]) / (shares[above] - shares[above - 1])
    return saved[above - 1] + part * (saved[above] - saved[above - 1])


def _by_name(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    """The rows of each short name, in their order."""
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        groups.setdefault(short_name(row.kernel), []).append(row)
    return groups
