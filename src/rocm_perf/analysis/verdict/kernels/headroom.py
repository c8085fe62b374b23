"""How much faster a kernel could be: the roof that it can reach, and what says so."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_perf.analysis.roofline.amounts import AT_LEAST
from rocm_perf.analysis.roofline.counted import NOT_COUNTED
from rocm_perf.analysis.roofline.points import AT_LEAST_FLOPS
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
_AT_MOST = "at most"  # how doubts say that an amount is the most that it may be
_PARTLY = (NOT_COUNTED, "bytes are missing")  # how doubts about bytes say that there are more


class Headroom(msgspec.Struct, frozen=True):
    """`share`: the part of its time that a kernel would lose at the roof, at most; None where no roof that it could
    reach is known."""

    share: float | None
    reached: float  # of that roof
    near: bool
    computes: bool  # the roof is one of arithmetic, not of memory
    counted: bool  # by counters, in part at least
    least: (
        bool  # it may move or compute more than is known: shapes say the least, and counters may count a part
    )
    bound: str  # what `reached` is, as a word before it: empty where it is known
    says: str


def headroom(subject: Subject, others: Sequence[Subject], document: Document) -> Headroom | None:
    """None where neither bytes nor operations of most of it are known, or no peak is."""
    usable = _under_one_roof([point for point in subject.points if _usable(point)])
    if not usable or not subject.is_most(usable):
        return None
    best = _best(usable[0].position, others) if _on_matrix_units(usable[0]) else None
    if best is not None:
        return _below_best(subject, usable, best, document)
    return _below_peak(subject, usable, document)


def _under_one_roof(points: Sequence[KernelRoofline]) -> list[KernelRoofline]:
    """Those under the roof that most of the time is spent under: shares of different roofs have no mean."""
    spent: dict[str | None, int] = {}
    for point in points:
        spent[point.position] = spent.get(point.position, 0) + point.total_ns
    roof = max(spent, key=lambda position: spent[position], default=None)
    return [point for point in points if point.position == roof]


def _usable(point: KernelRoofline) -> bool:
    percent = point.percent_of_roof.value
    return percent is not None and 0 < percent <= IMPLAUSIBLE and point.position is not None


def _on_matrix_units(point: KernelRoofline) -> bool:
    return bool(point.position and point.position.endswith(f"{MATRIX})"))


def _best(position: str | None, others: Sequence[Subject]) -> KernelRoofline | None:
    """The kernel that comes nearest to the same peak, of all that run for a while, if there are several."""
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
    """The distance to the rate that other kernels reach on the same units. What comes near the best of them is as far
    from the peak as that one is: how much faster both could be is not known, unless that is near the peak itself."""
    reached = min(1.0, _mean_percent(points) / _percent(best))
    as_fast = reached * _SLOWER >= 1
    unknown = as_fast and not _is_near(_percent(best) / 100, best, document)
    itself = best.short_name == subject.name
    return Headroom(
        share=None if unknown else 1 - reached,
        reached=_mean_percent(points) / 100 if unknown else reached,
        near=as_fast and not unknown,
        computes=True,
        counted=_is_counted(points[0]),
        least=_is_least(points[0]),
        bound=_bound(points[0]),
        says=_fastest(subject, best, document)
        if unknown and itself
        else _slower(subject, points[0], best, document),
    )


def _slower(subject: Subject, point: KernelRoofline, best: KernelRoofline, document: Document) -> str:
    verb = "compute" if subject.others else "computes"
    of = "its fastest call" if best.short_name == subject.name else best.short_name
    return (
        f"{subject.pronoun} {verb} {_tflops(point)}; {of} reaches {_tflops(best)} on the same units, "
        f"{_of_peak(best, document)}"
    )


def _fastest(subject: Subject, best: KernelRoofline, document: Document) -> str:
    which = "the fastest of them reaches" if subject.others else "it computes"
    return (
        f"{which} {_tflops(best)}, {_of_peak(best, document)}: no kernel of the recording is faster on these units, so "
        "how much could be gained is not known"
    )


def _of_peak(point: KernelRoofline, document: Document) -> str:
    peak = "measured" if _measured_roof(point, document) else "data-sheet"
    return f"{_percent(point):.0f} % of their {peak} peak"


def _tflops(point: KernelRoofline) -> str:
    value = point.tflops.value
    return f"{value:,.0f} TFLOP/s" if value is not None else "an unknown rate"


def _below_peak(subject: Subject, points: Sequence[KernelRoofline], document: Document) -> Headroom:
    reached = min(1.0, _mean_percent(points) / 100)
    point = points[0]
    measured = _measured_roof(point, document)
    peak = f"what was measured on {measured.source}" if measured else "the data-sheet peak"
    roof = f"{peak} of {_roof_words(point)}{_beside(measured)}"
    reaches = f"{'reach' if subject.others else 'reaches'} {_bound(point) or _in_doubt(point)}{format_share(reached)}"
    return Headroom(
        share=1 - reached,
        reached=reached,
        near=_is_near(reached, point, document),
        computes=(point.position or "").startswith("compute"),
        counted=_is_counted(point),
        least=_is_least(point),
        bound=_bound(point),
        says=f"{subject.pronoun} {reaches} of {roof} ({point.basis}{_known_for(point)})",
    )


def _known_for(point: KernelRoofline) -> str:
    """Of how many dispatches what it is near to is known, where not of all."""
    parts = (part.dispatches for part in point.work if f"({part.ceiling})" in (point.position or ""))
    known = next(parts, point.calls)
    return f", known for {known:,} of {point.calls:,} dispatches" if known < point.calls else ""


def _is_near(reached: float, point: KernelRoofline, document: Document) -> bool:
    """Whether that share of the roof of a kernel leaves nothing to gain in the kernel itself."""
    return reached >= (NEAR_MEASURED if _measured_roof(point, document) else NEAR_DATA_SHEET)


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


def _bound(point: KernelRoofline) -> str:
    """Shapes say what must be moved and computed; a kernel that does more is nearer to its roof than they say. Where
    they say the most, such as that of every expert, it may be farther from it as well."""
    amount = point.flops if (point.position or "").startswith("compute") else point.bytes
    if _AT_MOST in (amount.doubt or ""):
        return "about "
    return "at least " if _is_least(point) else ""


def _in_doubt(point: KernelRoofline) -> str:
    return "at least " if point.regime == "unknown" else ""


def _is_counted(point: KernelRoofline) -> bool:
    return not any(basis in point.basis for basis in AT_LEAST)


def _is_least(point: KernelRoofline) -> bool:
    """Whether it may move or compute more than is known."""
    return not _is_counted(point) or _counted_in_part(point)


def _counted_in_part(point: KernelRoofline) -> bool:
    """Whether some of what its nearest roof limits was not counted: some kinds of operations, or half of the bytes."""
    if (point.position or "").startswith("compute"):
        return (point.flops.doubt or "").startswith(AT_LEAST_FLOPS)
    return any(partly in (point.bytes.doubt or "") for partly in _PARTLY)


def worth(share: float, saved_ns: int) -> str:
    """What reaching the roof saves, in words."""
    return f"at that rate it would take {format_share(share)} less: at most {format_ns(saved_ns)} of the wall"
