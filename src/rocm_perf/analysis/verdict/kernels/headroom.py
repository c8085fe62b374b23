"""How much faster a kernel could be: the roof that it can reach, and what says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf.analysis.roofline.amounts import AT_LEAST
from rocm_perf.analysis.roofline.regime import IMPLAUSIBLE
from rocm_perf.analysis.verdict.kernels.subjects import Subject
from rocm_perf.model.document import Document
from rocm_perf.model.machine_ceilings import MATRIX
from rocm_perf.model.results.roofline import Ceiling, KernelRoofline
from rocm_perf.units import format_ns, format_share

# Of a roof: from here on, nothing is left in the kernel itself. What a copy reaches of the data sheet's bandwidth was
# measured as 79 % on MI300X and 85 % on MI210 (rocprof-compute's benchmark).
NEAR_DATA_SHEET = 0.7
NEAR_MEASURED = 0.9
_CONTENDER = 0.05  # of the kernel time: what sets a roof for others has to run for a while
_LEAST_OF_PEAK = 0.35  # of the data sheet: a rate that shows what these units reach in practice
_SLOWER = 1.1


@dataclass(frozen=True)
class Headroom:
    """`share`: the part of its time that a kernel would lose at the roof, at most."""

    share: float
    reached: float  # of that roof
    near: bool
    computes: bool  # the roof is one of arithmetic, not of memory
    counted: bool  # by counters; shapes say the least that has to be done
    says: str


def headroom(subject: Subject, others: Sequence[Subject], document: Document) -> Headroom | None:
    """None where neither bytes nor operations of most of it are known, or no peak is."""
    usable = [point for point in subject.points if _usable(point)]
    if not usable or not subject.is_most(usable):
        return None
    best = _best(subject, others) if _on_matrix_units(usable[0]) else None
    if best is not None:
        return _below_best(subject, usable, best, document)
    return _below_peak(usable, document)


def _usable(point: KernelRoofline) -> bool:
    percent = point.percent_of_roof.value
    return percent is not None and 0 < percent <= IMPLAUSIBLE and point.position is not None


def _on_matrix_units(point: KernelRoofline) -> bool:
    return bool(point.position and point.position.endswith(f"{MATRIX})"))


def _best(subject: Subject, others: Sequence[Subject]) -> KernelRoofline | None:
    """The kernel that comes nearest to the same peak, of all that run for a while, if there are several."""
    position = next(point.position for point in subject.points if _usable(point))
    rivals = [
        point
        for other in others
        if other.share >= _CONTENDER
        for point in other.points
        if _usable(point) and point.position == position
    ]
    several = len({point.short_name for point in rivals}) > 1
    best = max(rivals, key=_percent, default=None)
    return best if several and best is not None and _percent(best) >= 100 * _LEAST_OF_PEAK else None


def _percent(point: KernelRoofline) -> float:
    return float(point.percent_of_roof.value or 0)


def _below_best(
    subject: Subject, points: Sequence[KernelRoofline], best: KernelRoofline, document: Document
) -> Headroom:
    """The distance to the rate that other kernels reach on the same units."""
    reached = min(1.0, _mean_percent(points) / _percent(best))
    rate, best_rate = (_tflops(point) for point in (points[0], best))
    itself = best.short_name == subject.name
    of = "its fastest call" if itself else best.short_name
    peak = "measured" if _measured_roof(best, document) else "data-sheet"
    of_peak = f"{_percent(best):.0f} % of their {peak} peak"
    says = f"it computes {rate}; {of} reaches {best_rate} on the same units, {of_peak}"
    return Headroom(
        share=1 - reached,
        reached=reached,
        near=reached * _SLOWER >= 1,
        computes=True,
        counted=not _is_least(points[0]),
        says=says,
    )


def _tflops(point: KernelRoofline) -> str:
    value = point.tflops.value
    return f"{value:,.0f} TFLOP/s" if value is not None else "an unknown rate"


def _below_peak(points: Sequence[KernelRoofline], document: Document) -> Headroom:
    reached = min(1.0, _mean_percent(points) / 100)
    point = points[0]
    measured = _measured_roof(point, document)
    peak = f"what was measured on {measured.source}" if measured else "the data-sheet peak"
    roof = f"{peak} of {_roof_words(point)}{_beside(measured)}"
    says = f"it reaches {_at_least(point)}{format_share(reached)} of {roof} ({point.basis})"
    near = reached >= (NEAR_MEASURED if measured else NEAR_DATA_SHEET)
    return Headroom(
        share=1 - reached,
        reached=reached,
        near=near,
        computes=(point.position or "").startswith("compute"),
        counted=not _is_least(point),
        says=says,
    )


def _mean_percent(points: Sequence[KernelRoofline]) -> float:
    """Weighted by time."""
    spent = sum(point.total_ns for point in points)
    if not spent:
        return _percent(points[0])
    return sum(_percent(point) * point.total_ns for point in points) / spent


def _measured_roof(point: KernelRoofline, document: Document) -> Ceiling | None:
    """The ceiling that limits a kernel, if it was measured."""
    name = (point.position or "").partition(" (")[2].removesuffix(")")
    ceilings = document.roofline.gpus[point.gpu].ceilings
    return next((ceiling for ceiling in ceilings if ceiling.name == name and ceiling.measured), None)


def _beside(measured: Ceiling | None) -> str:
    """The rate of the data sheet beside the measured one."""
    if measured is None or measured.data_sheet is None:
        return ""
    rate, data_sheet = measured.rate, measured.data_sheet
    return f", {rate.value:,.3g} {rate.unit} (data sheet: {data_sheet.value:,.3g})"


def _roof_words(point: KernelRoofline) -> str:
    """`compute (bf16 matrix)` -> `the bf16 matrix units`; `memory (HBM)` -> `the memory (HBM)`."""
    kind, _, name = (point.position or "").partition(" (")
    name = name.removesuffix(")")
    return f"the {name} units" if kind == "compute" else f"the memory ({name})"


def _at_least(point: KernelRoofline) -> str:
    """Shapes say what must be moved and computed; a kernel that does more is nearer to its roof than they say."""
    return "at least " if _is_least(point) or point.regime == "unknown" else ""


def _is_least(point: KernelRoofline) -> bool:
    return any(basis in point.basis for basis in AT_LEAST)


def worth(share: float, saved_ns: int) -> str:
    """What reaching the roof saves, in words."""
    return f"at that rate it would take {format_share(share)} less: at most {format_ns(saved_ns)} of the wall"
