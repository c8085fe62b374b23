"""What limits each kernel: one table of units from all sources, and the causes of all sources in one order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rocm_perf.analysis.basis.profiled_times import only_lengths
from rocm_perf.analysis.limits.catalogue import catalogue, remedy
from rocm_perf.analysis.limits.code import code_causes, code_evidence
from rocm_perf.analysis.limits.counted_launches import limits_by_emulation
from rocm_perf.analysis.limits.judging import WEIGHTS, Found
from rocm_perf.analysis.limits.patterns import group_causes, pattern_causes
from rocm_perf.analysis.limits.rules import causes
from rocm_perf.analysis.limits.shapes import shape_causes
from rocm_perf.analysis.limits.table import counted, launched, table_metrics, unit_table
from rocm_perf.analysis.limits.traced import traced_limits
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.counted import metric_tables
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.model.results.limits import Cause, GroupCause, KernelLimits
from rocm_perf.model.results.roofline import KernelRoofline, Roofline
from rocm_perf.model.trace import Trace

SHORT_NS = 10_000  # a shorter dispatch starts and ends as long as it works: shares of its time say little
_SUPPOSED = 0.8  # the weight of what shapes, geometry and code tell, beside what was measured


def kernel_limits(trace: Trace, known: tuple[Device, ...], points: Roofline) -> dict[Key, KernelLimits]:
    """Return what limits each kernel that has a place on the roofline."""
    in_order = only_lengths(trace) is None
    values = counted(metric_tables(trace, known, table_metrics()), known, in_order=in_order)
    supposed = _supposed(trace, known, points)
    launches = launched(trace, known) if values else {}
    emulated, traced = limits_by_emulation(trace, known), traced_limits(trace)
    limits = {}
    for point in points.kernels:
        key = (point.gpu, point.kernel)
        table = unit_table(point.kernel, values.get(key, {}), point, known[point.gpu].gfx, launches.get(key))
        found = [(one.weight, _told(one, point)) for one in causes(table)] if key in values else []
        units, readings, exact = emulated.get(key, ([], [], []))
        waits, seen = traced.get(point.kernel, ([], []))
        found += _weighed([*exact, *seen])
        others = [one for source in supposed for one in source.get(key, ())]
        limits[key] = KernelLimits(
            units=(*table.units.values(), *(one for one in units if one.unit not in table.units)),
            readings=(
                *table.readings.values(),
                *(one for one in readings if one.name not in table.readings),
                *waits,
            ),
            causes=_ordered([*found, *_weighed(others, _SUPPOSED if found else 1.0)]),
        )
    return limits


def limits_of_traces(trace: Trace) -> dict[str, KernelLimits]:
    """Return what traces and samples alone tell, by kernel, for kernels of which nothing else was recorded."""
    return {
        kernel: KernelLimits(readings=tuple(waits), causes=_ordered(_weighed(seen)))
        for kernel, (waits, seen) in traced_limits(trace).items()
    }


def limits_together(trace: Trace, known: tuple[Device, ...], points: Roofline) -> tuple[GroupCause, ...]:
    """Return what limits several kernels together, those that can save most first."""
    return tuple(group_causes(trace, known, points))


def _supposed(
    trace: Trace, known: tuple[Device, ...], points: Roofline
) -> list[Mapping[Key, Sequence[Cause]]]:
    """Return the causes that need no measurement inside of kernels."""
    code = {key: code_causes(seen, key[1]) for key, seen in code_evidence(trace, known).items()}
    return [shape_causes(trace, known, points), pattern_causes(trace, known, points), code]


def _weighed(told: Iterable[Cause], by: float = 1.0) -> list[tuple[float, Cause]]:
    """Return causes with their weight, by which they are ordered."""
    return [(one.share * WEIGHTS[one.certainty] * by, one) for one in told]


def _ordered(weighed: Iterable[tuple[float, Cause]]) -> tuple[Cause, ...]:
    """Return causes by the time that they explain and how certain that is, each id once."""
    by_id: dict[str, Cause] = {}
    for _, one in sorted(weighed, key=lambda pair: -pair[0]):
        by_id.setdefault(one.id, one)
    return tuple(by_id.values())


def _told(found: Found, point: KernelRoofline) -> Cause:
    """Return what a rule found, with its remedy; shares of a very short dispatch are no more than a hint.

    What a remedy saves is time that the cause explains: where another unit would be the limit afterwards, that is more
    than the waste alone.
    """
    is_short = 0 < point.total_ns < SHORT_NS * point.calls
    return Cause(
        id=found.id,
        share=min(1.0, max(found.share, found.saves or 0.0)),
        saves=found.saves,
        certainty="hint" if is_short else found.certainty,
        title=found.title,
        evidence=found.evidence,
        remedy=remedy(found.id, point.kernel),
        source="counters",
        is_not=catalogue()[found.id].is_not,
    )
