"""The units, readings and causes of a kernel that was executed without a GPU: exact counts, and no time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from rocm_perf.analysis.limits.catalogue import catalogue, remedy
from rocm_perf.analysis.limits.emulated_defects import Defect, defects
from rocm_perf.analysis.limits.emulated_work import FULL, SPECIAL_TIMES, SURE, Counts, Loads, loads_of
from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.count import TallyName
from rocm_perf.model.results.limits import Cause, Certainty, Reading, UnitUse

SOURCE: Literal["emulation"] = "emulation"
NO_TIME = "emulation has no time, and none was given"
_LEAST_SHARE = 0.05  # of the time: what explains less is no cause

_UNITS = {
    "vector": "vector units (VALU)",
    "matrix": "matrix units",
    "scalar": "scalar unit",
    "lds": "LDS",
    "l1": "L1 look-ups",
    "memory": "device memory",
}
_FORMULAS = {
    "vector": "cycles of the vector instructions / SIMDs",
    "matrix": "operations / peak of the matrix units",
    "scalar": "scalar instructions / scalar units",
    "lds": "LDS cycles / compute units",
    "l1": "look-ups of lines / compute units",
    "memory": "bytes of distinct lines / bandwidth",
}


def emulated_limits(
    counts: Counts, gpu: Gpu | None, time_ns: float | None
) -> tuple[list[UnitUse], list[Reading], list[Cause]]:
    """Return the units, readings and causes that the counts of a kernel show.

    `gpu` is the one that it runs on and `time_ns` what it takes there. Without them units have no use, and causes are
    weighed by the least time that the counts allow.
    """
    loads = loads_of(counts, gpu, time_ns)
    causes = [_cause(counts, one, loads) for one in defects(counts, gpu, loads) if one.share >= _LEAST_SHARE]
    return list(_units(counts, loads)), list(_readings(counts)), causes


def _cause(counts: Counts, defect: Defect, loads: Loads) -> Cause:
    return Cause(
        id=defect.id,
        share=min(1.0, defect.share),
        saves=defect.saves,
        certainty=_certainty(defect, loads),
        title=defect.title,
        evidence=defect.evidence,
        remedy=remedy(defect.id, counts.kernel),
        source=SOURCE,
        is_not=catalogue()[defect.id].is_not,
    )


def _certainty(defect: Defect, loads: Loads) -> Certainty:
    """Return how certain it is that a defect costs time: exact counts prove the defect, not that it is the limit."""
    busy = loads.of(defect.unit) if defect.unit else 0.0
    if loads.is_timed and busy >= SURE:
        return "proven"
    return "likely" if busy >= FULL else "hint"


def _units(counts: Counts, loads: Loads) -> Iterator[UnitUse]:
    useful = _useful(counts)
    for unit, title in _UNITS.items():
        if unit not in loads.shares:
            continue
        formula = f"({_FORMULAS[unit]}) / time of the kernel"
        busy = (
            Quantity(loads.shares[unit], "", formula) if loads.is_timed else unavailable("", formula, NO_TIME)
        )
        yield UnitUse(unit, title, busy, useful.get(unit), SOURCE)


def _useful(counts: Counts) -> Mapping[str, Quantity]:
    found: dict[str, Quantity] = {}
    if counts.of("lds cycles"):
        formula = "1 - cycles of bank conflicts / LDS cycles"
        found["lds"] = Quantity(1 - counts.share("lds conflicts", "lds cycles"), "", formula)
    if counts.of("vector"):
        active = counts.of("vector lanes") / (counts.of("vector") * counts.wave_size)
        found["vector"] = Quantity(active, "", "active lanes / (vector instructions * lanes of a wave)")
    if lines := counts.of("load lines") + counts.of("store lines"):
        dense = counts.of("dense load lines") + counts.of("dense store lines")
        found["l1"] = Quantity(
            dense / lines, "", "lines that dense accesses would need / lines that are touched"
        )
    return found


_OF_LANES: tuple[TallyName, ...] = ("loads", "stores", "atomics", "scratch accesses")
_SHARES: tuple[tuple[str, TallyName, tuple[TallyName, ...], str], ...] = (
    ("used_load_bytes", "dense load lines", ("load lines",), "lines that dense loads would need"),
    ("used_store_bytes", "dense store lines", ("store lines",), "lines that dense stores would need"),
    ("load_share", "loads", ("loads", "stores"), "share of the accesses that load"),
    ("conflict_share", "lds conflicts", ("lds cycles",), "share of the cycles of LDS that bank conflicts add"),
    ("atomic_accesses", "atomics", ("loads", "stores", "atomics"), "share of the accesses that are atomics"),
    ("local_atomics", "local atomics", ("instructions",), "share of the instructions that are atomics in LDS"),
    ("local_accesses", "scratch accesses", _OF_LANES, "share of the accesses that are to scratch"),
    ("narrow_accesses", "narrow accesses", ("loads", "stores"), "share of accesses of one or two bytes a lane"),
    ("wide_accesses", "wide accesses", ("loads", "stores"), "share of accesses of eight bytes a lane or more"),
    ("f64_instructions", "f64", ("vector",), "share of the vector instructions that compute in f64"),
    ("f32_instructions", "f32", ("vector",), "share of the vector instructions that compute in f32"),
    ("f16_instructions", "f16", ("vector",), "share of the vector instructions that compute in f16"),
    ("integer_instructions", "integer", ("vector",), "share of the vector instructions that compute with integers"),
    ("conversion_instructions", "conversions", ("vector",), "share of the vector instructions that convert"),
)  # fmt: skip


def _readings(counts: Counts) -> Iterator[Reading]:
    for name, part, whole, title in _SHARES:
        if sum(map(counts.of, whole)):
            formula = f"{part} / ({' + '.join(whole)})"
            yield Reading(name, "work", title, Quantity(counts.share(part, *whole), "", formula), SOURCE)
    if counts.of("vector"):
        active = counts.of("vector lanes") / (counts.of("vector") * counts.wave_size)
        formula = "active lanes / (vector instructions * lanes of a wave)"
        yield Reading(
            "active_lanes", "work", "share of the lanes that work", Quantity(active, "", formula), SOURCE
        )
        times = SPECIAL_TIMES
        special = times * counts.of("special") * counts.turn / counts.vector_cycles
        formula = f"{times} * special functions / turns of the vector instructions"
        title = "share of the time of vector instructions that special functions take"
        yield Reading("special_instructions", "work", title, Quantity(special, "", formula), SOURCE)
    if counts.workgroups and counts.of("work-items"):
        items = counts.of("work-items") / counts.workgroups
        formula = "work-items / workgroups"
        yield Reading(
            "workgroup_items",
            "parallelism",
            "work-items of a workgroup",
            Quantity(items, "", formula),
            SOURCE,
        )
