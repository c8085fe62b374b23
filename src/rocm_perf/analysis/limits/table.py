"""The table of units of a kernel: how busy each unit was, what it waited for, how much ran at once, what its work is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Literal

import msgspec

from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.regime import IMPLAUSIBLE
from rocm_perf.arch.metric_data import metrics
from rocm_perf.arch.metrics import MetricTable, by_kernel
from rocm_perf.arch.toml import read_toml
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.limits import Reading, Source, UnitUse
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.model.vendor import is_nvidia
from rocm_perf.once import once

MEMORY, MATRIX, VECTOR, LDS, L2 = "memory", "matrix", "vector", "lds", "l2"
_GROUPS: Mapping[Literal["waits", "parallelism", "work"], tuple[str, ...]] = {
    "waits": (
        "wait_memory",
        "wait_memory_queue",
        "wait_local",
        "wait_local_queue",
        "wait_barrier",
        "wait_drain",
        "wait_pipe",
        "wait_result",
        "wait_instruction",
        "wait_selected",
        "wait_share",
        "issue_wait_share",
        "lds_wait_share",
    ),
    "parallelism": (
        "filled",
        "achieved_occupancy",
        "waves_of_grid",
        "workgroups_per_unit",
        "workgroup_items",
        "fits_by_registers",
        "fits_by_local_memory",
        "fits_by_workgroup",
        "fits_by_slots",
        "registers_keep_out",
        "lds_keeps_out",
    ),
    "work": (
        "active_lanes",
        "used_load_bytes",
        "used_store_bytes",
        "load_share",
        "used_memory_bytes",
        "used_l2_bytes",
        "sectors_per_load",
        "l2_reads_per_load",
        "l2_hit_rate",
        "conflict_share",
        "lds_of_l1",
        "hottest_atomics",
        "atomic_accesses",
        "atomic_latency",
        "local_atomics",
        "local_accesses",
        "spill_instructions",
        "narrow_accesses",
        "wide_accesses",
        "host_accesses",
        "f64_instructions",
        "f32_instructions",
        "f16_instructions",
        "integer_instructions",
        "conversion_instructions",
        "conversions_of_special",
        "special_instructions",
        "fetch_misses",
        "vmem_per_valu",
    ),
}
# The roofs of the roofline that are units of the table.
_ROOFS = {"HBM": MEMORY, "DRAM": MEMORY, "L2": L2, "LDS": LDS}


class Unit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A unit, the metrics that say how busy it was and how usefully, and its names."""

    metric: str
    amd: str = ""
    nvidia: str = ""
    useful: str = ""
    wasted: str = ""

    def title(self, *, nvidia: bool) -> str:
        """Return its name in the vendor's words."""
        return (self.nvidia if nvidia else self.amd) or self.amd or self.nvidia


class Table(msgspec.Struct, frozen=True):
    """All that is known of one kernel, as the causes read it: shares of the kernel's time, by unit and by name."""

    kernel: str
    nvidia: bool
    units: Mapping[str, UnitUse]
    readings: Mapping[str, Reading]
    mean_ns: float | None = None

    def busy(self, unit: str) -> float:
        """Return the share of the time that a unit was busy; 0 where it was not recorded."""
        use = self.units.get(unit)
        return min(1.0, float(use.busy.value or 0)) if use else 0.0

    def value(self, name: str) -> float | None:
        """Return a reading, None where it was not recorded."""
        reading = self.readings.get(name)
        return None if reading is None or reading.value.value is None else float(reading.value.value)

    def share(self, name: str, otherwise: float = 0.0) -> float:
        """Return a reading, or what to suppose where it was not recorded."""
        value = self.value(name)
        return otherwise if value is None else value

    def title(self, unit: str) -> str:
        """Return a unit's name in the vendor's words."""
        return unit_names()[unit].title(nvidia=self.nvidia)


@once
def unit_names() -> Mapping[str, Unit]:
    """Return the units by id, in the order in which they are shown."""
    file = resources.files("rocm_perf.analysis.limits") / "units.toml"
    return msgspec.convert(read_toml(file.read_bytes(), "units.toml"), dict[str, Unit])


def table_metrics() -> frozenset[str]:
    """Return every metric that a table of units asks for."""
    of_units = (name for unit in unit_names().values() for name in (unit.metric, unit.useful, unit.wasted))
    readings = (name for group in _GROUPS.values() for name in group)
    return frozenset(filter(None, (*of_units, *readings)))


def counted(
    tables: Sequence[MetricTable | None], known: Sequence[Device]
) -> dict[Key, dict[str, Quantity]]:
    """Return the metrics of each kernel that its counters give."""
    found: dict[Key, dict[str, Quantity]] = {}
    for place, (table, device) in enumerate(zip(tables, known, strict=True)):
        if table is None:
            continue
        rows = by_kernel(table).select("kernel", "metric", "value", "unit", "doubt")
        for kernel, metric, value, unit, doubt in rows.iter_rows():
            evaluation = table.evaluations[metric]
            if device.serves(evaluation.constants):
                formula = str(evaluation.expression)
                found.setdefault((place, kernel), {})[metric] = Quantity(value, unit, formula, doubt=doubt)
    return found


def unit_table(
    kernel: str, values: Mapping[str, Quantity], point: KernelRoofline | None, gfx: str | None
) -> Table:
    """Return the table of one kernel from its counters and its place on the roofline."""
    nvidia = is_nvidia(gfx)
    units = {use.unit: use for use in (*_of_roofline(point, nvidia=nvidia), *_of_counters(values, nvidia=nvidia))}
    ordered = {name: units[name] for name in unit_names() if name in units}
    readings = {reading.name: reading for reading in _readings(values)}
    if "achieved_occupancy" not in readings and point and (given := point.evidence.get("achieved_occupancy")):
        readings["achieved_occupancy"] = _reading("achieved_occupancy", "parallelism", given)
    mean_ns = point.total_ns / point.calls if point and point.calls and point.total_ns else None
    return Table(kernel, nvidia, ordered, readings, mean_ns)


def _of_counters(values: Mapping[str, Quantity], *, nvidia: bool) -> Iterator[UnitUse]:
    for name, unit in unit_names().items():
        busy = values.get(unit.metric)
        if busy is not None and busy.known:
            yield UnitUse(name, unit.title(nvidia=nvidia), busy, _useful(unit, values), "counters")


def _useful(unit: Unit, values: Mapping[str, Quantity]) -> Quantity | None:
    if unit.useful:
        return values.get(unit.useful)
    wasted = values.get(unit.wasted)
    if wasted is None or wasted.value is None:
        return None
    return Quantity(1 - wasted.value, "", f"1 - ({wasted.formula})", doubt=wasted.doubt)


def _of_roofline(point: KernelRoofline | None, *, nvidia: bool) -> Iterator[UnitUse]:
    """Yield the units whose work is known in bytes or operations, against the ceilings of the roofline."""
    if point is None:
        return
    source: Source = "counters" if "counters" in point.basis else "shapes"
    busiest: dict[str, tuple[float, str]] = {}
    for position, percent in point.percent_of_roof.inputs.items():
        kind, _, name = position.partition(" (")
        name = name.removesuffix(")")
        unit = _ROOFS.get(name) or (MATRIX if name.endswith("matrix") else VECTOR if kind == "compute" else "")
        if unit and percent <= IMPLAUSIBLE and percent / 100 > busiest.get(unit, (0.0, ""))[0]:
            busiest[unit] = (percent / 100, name)
    for unit, (share, name) in busiest.items():
        formula = f"rate / the peak of {name}"
        title = f"{unit_names()[unit].title(nvidia=nvidia)}, {name}" if unit in (MATRIX, VECTOR) else name
        yield UnitUse(unit, title, Quantity(share, "", formula), None, source)


def _readings(values: Mapping[str, Quantity]) -> Iterator[Reading]:
    for group, names in _GROUPS.items():
        for name in names:
            value = values.get(name)
            if value is not None and value.known:
                yield _reading(name, group, value)


def _reading(name: str, group: Literal["waits", "parallelism", "work"], value: Quantity) -> Reading:
    return Reading(name, group, metrics()[name].title, value, "counters")
