"""The table of units of a kernel: how busy each unit was, what it waited for, how much ran at once, and what its work
is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.limits.geometry import fitting, with_geometry
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.direct import SM
from rocm_perf.analysis.roofline.regime import IMPLAUSIBLE
from rocm_perf.arch.metric_data import metrics
from rocm_perf.arch.metric_evaluation import WEIGHT
from rocm_perf.arch.metrics import MetricTable, by_kernel
from rocm_perf.arch.toml import read_toml
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.limits import Reading, Source, UnitUse
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.model.trace import Trace
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
        "vmem_latency",
    ),
    "parallelism": (
        "filled",
        "achieved_occupancy",
        "waves_of_grid",
        "workgroups_per_unit",
        "least_workgroups_per_unit",
        "workgroup_items",
        "fits_by_registers",
        "fits_by_local_memory",
        "fits_by_workgroup",
        "fits_by_slots",
        "registers_keep_out",
        "lds_keeps_out",
        "active_beyond",
        "first_dispatch",
        "first_share",
    ),
    "work": (
        "active_lanes",
        "used_load_bytes",
        "used_store_bytes",
        "load_share",
        "used_memory_bytes",
        "used_l2_bytes",
        "excess_sectors",
        "sectors_per_load",
        "l2_reads_per_load",
        "l1_lookups_per_access",
        "l2_hit_rate",
        "conflict_share",
        "lds_conflict_cycles",
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
        "scratch_bytes",
        "l2_writes_per_wave",
        "translation_misses",
        "first_translation_misses",
    ),
}
# Readings that no metric gives: they follow from the list of dispatches.
_TITLES = {
    "least_workgroups_per_unit": "workgroups for each compute unit in the smallest launch",
    "scratch_bytes": "bytes of private memory (scratch) of a work-item",
    "first_dispatch": "times as long as the others that the first dispatch took",
    "first_share": "share of the kernel's time that its first dispatch took",
    "first_translation_misses": "times as many misses of address translation in the first dispatch as in the others",
}
# Shares of the time that the GPU was active, which includes starting and ending a short dispatch.
_OF_ACTIVE_TIME = ("filled", "achieved_occupancy", "registers_keep_out", "lds_keeps_out")
_FIRST = 5  # times as long as the others: a first dispatch that did something else than they
# Cycles for each cycle of the dispatch at its highest clock: what is above is starting and ending it.
_BEYOND = 1.05
_FULL_L1, _NO_LIMIT = 0.8, 0.35  # of its peak: what counts as a full L1 on AMD, and what stands for less

# Why a unit can be busy for more than all of the time, by whether it is that of vector instructions.
_ABOVE = {
    True: "above 1: two vector instructions can start in one cycle",
    False: "above 1: caches serve a part of it, or its time or peak is a little off",
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
    working: str = ""
    most: Mapping[str, float] = {}

    def most_on(self, gfx: str) -> float:
        """Return the share of its peak that it reaches at best on a chip."""
        return next((most for pattern, most in self.most.items() if fnmatchcase(gfx, pattern)), 1.0)

    def title(self, *, nvidia: bool) -> str:
        """Return its name in the vendor's words."""
        return (self.nvidia if nvidia else self.amd) or self.amd or self.nvidia


class Table(msgspec.Struct, frozen=True, dict=True):
    """All that is known of one kernel, as the causes read it: shares of the kernel's time, by unit and by name."""

    kernel: str
    nvidia: bool
    units: Mapping[str, UnitUse]
    readings: Mapping[str, Reading]
    mean_ns: float | None = None
    gfx: str = ""

    @cached_property
    def _busy(self) -> Mapping[str, float]:
        return {unit: min(1.0, float(use.busy.value or 0)) for unit, use in self.units.items()}

    @cached_property
    def _loads(self) -> Mapping[str, float]:
        most = _most_of_units(self.gfx)
        loads = {unit: min(1.0, busy / most[unit]) for unit, busy in self._busy.items()}
        if not self.nvidia and loads.get("l1", 1.0) < _FULL_L1:
            loads["l1"] = min(loads["l1"], _NO_LIMIT)
        return loads

    def busy(self, unit: str) -> float:
        """Return the share of the time that a unit was busy; 0 where it was not recorded."""
        return self._busy.get(unit, 0.0)

    def load(self, unit: str) -> float:
        """Return how near a unit was to the most that it reaches on this chip. The peak of AMD's L1 is computed, and
        kernels that something else limits came to 62 % of it: only what is well above that counts."""
        return self._loads.get(unit, 0.0)

    @cached_property
    def most(self) -> float:
        """Return how near the fullest unit was to the most that it reaches."""
        return max(self._loads.values(), default=0.0)

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


@cache
def _most_of_units(gfx: str) -> Mapping[str, float]:
    return {name: unit.most_on(gfx) for name, unit in unit_names().items()}


def table_metrics() -> frozenset[str]:
    """Return every metric that a table of units asks for."""
    units = unit_names().values()
    of_units = (name for unit in units for name in (unit.metric, unit.useful, unit.wasted, unit.working))
    readings = (name for group in _GROUPS.values() for name in group)
    return frozenset(filter(None, (*of_units, *readings))) - _TITLES.keys()


def counted(
    tables: Sequence[MetricTable | None], known: Sequence[Device], *, in_order: bool = True
) -> dict[Key, dict[str, Quantity]]:
    """Return the metrics of each kernel that its counters give. A first dispatch that took many times as long as the
    others is left out, and said, where dispatches are known `in_order`."""
    found: dict[Key, dict[str, Quantity]] = {}
    for place, (table, device) in enumerate(zip(tables, known, strict=True)):
        if table is None:
            continue
        settled, firsts = _settled(table) if in_order else (table, {})
        for kernel, first in firsts.items():
            found.setdefault((place, kernel), {}).update(first)
        formulas = {
            metric: str(evaluation.expression)
            for metric, evaluation in table.evaluations.items()
            if device.serves(evaluation.constants)
        }
        rows = by_kernel(settled).select("kernel", "metric", "value", "least", "unit", "doubt")
        for kernel, metric, value, least, unit, doubt in rows.iter_rows():
            if metric in formulas:
                of_kernel = found.setdefault((place, kernel), {})
                of_kernel[metric] = Quantity(value, unit, formulas[metric], doubt=doubt)
                if metric == "workgroups_per_unit":
                    of_kernel[f"least_{metric}"] = Quantity(least, unit, formulas[metric], doubt=doubt)
    return found


def _settled(table: MetricTable) -> tuple[MetricTable, dict[str, dict[str, Quantity]]]:
    """Return the metrics without first dispatches that touched their memory for the first time, and what those were."""
    outliers: dict[int, pl.DataFrame] = {}
    firsts: dict[str, dict[str, Quantity]] = {}
    evaluations = {}
    for name, evaluation in table.evaluations.items():
        frame = evaluation.frame
        home = int(frame["pass_id"][0])
        if home not in outliers:
            outliers[home] = _first_dispatches(frame)
            for kernel, times, share in outliers[home].select("kernel", "times", "share").iter_rows():
                firsts[kernel] = {
                    "first_dispatch": Quantity(times, "", "the first dispatch / the median of the others"),
                    "first_share": Quantity(share, "", "the first dispatch / all dispatches"),
                }
        slow = outliers[home]
        if not slow.height:
            evaluations[name] = evaluation
            continue
        rest = frame.join(slow, on=["pass_id", "dispatch_id", "kernel"], how="anti", nulls_equal=True)
        if name == "translation_misses":
            _compare_misses(frame, rest, slow, firsts)
        evaluations[name] = replace(evaluation, frame=rest)
    return replace(table, evaluations=evaluations), firsts


def _first_dispatches(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the first dispatches of kernels that took many times as long as the others, in one pass."""
    is_first = pl.col("dispatch_id") == pl.col("dispatch_id").min().over("kernel")
    others = pl.when(~is_first).then(pl.col(WEIGHT)).median().over("kernel")
    return (
        frame.select(
            "pass_id",
            "dispatch_id",
            "kernel",
            is_first.alias("first"),
            (pl.col(WEIGHT) / others).alias("times"),
            (pl.col(WEIGHT) / pl.col(WEIGHT).sum().over("kernel")).alias("share"),
        )
        .filter(pl.col("first") & (pl.col("times") >= _FIRST))
        .drop("first")
    )


def _compare_misses(
    frame: pl.DataFrame, rest: pl.DataFrame, slow: pl.DataFrame, firsts: dict[str, dict[str, Quantity]]
) -> None:
    misses = "TCP_UTCL1_TRANSLATION_MISS_sum"
    if misses not in frame.columns:
        return
    first = frame.join(slow, on=["pass_id", "dispatch_id", "kernel"], how="semi", nulls_equal=True)
    usual = dict(rest.group_by("kernel").agg(pl.col(misses).median()).iter_rows())
    for kernel, count in first.select("kernel", misses).iter_rows():
        if usual.get(kernel):
            formula = f"{misses} of the first dispatch / the median of the others"
            firsts[kernel]["first_translation_misses"] = Quantity(count / usual[kernel], "", formula)


def launched(trace: Trace, known: tuple[Device, ...]) -> dict[Key, dict[str, Quantity]]:
    """Return what the list of dispatches says of the launch of each AMD kernel that takes most of its time; Nsight
    Compute has metrics of its own for that."""
    if all(device.gfx is None or is_nvidia(device.gfx) for device in known):
        return {}
    shape = ["workgroups", "workgroup_size", "vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes"]
    rows = (
        with_geometry(trace.table("dispatches"), known)
        .group_by("gpu", "kernel", *shape)
        .agg(pl.col("duration_ns").sum(), pl.len())
        .sort("duration_ns", "len", nulls_last=True)
        .unique(["gpu", "kernel"], keep="last")
    )
    return {
        (row["gpu"], row["kernel"]): dict(_of_launch(row, known[row["gpu"]]))
        for row in rows.iter_rows(named=True)
        if not is_nvidia(known[row["gpu"]].gfx)
    }


_LIMITS = {
    "VGPRs": "fits_by_registers",
    "LDS": "fits_by_local_memory",
    "wave slots": "fits_by_workgroup",
    "workgroup size": "fits_by_workgroup",
    "workgroup slots": "fits_by_slots",
}


def _of_launch(row: Mapping[str, Any], device: Device) -> Iterator[tuple[str, Quantity]]:
    if row["scratch_bytes"]:
        yield "scratch_bytes", Quantity(row["scratch_bytes"], "B", "recorded with the dispatch")
    if not row["workgroups"] or not row["workgroup_size"]:
        return
    yield "workgroup_items", Quantity(row["workgroup_size"], "", "recorded with the dispatch")
    if not device.compute_units:
        return
    per_unit = row["workgroups"] / device.compute_units
    yield "workgroups_per_unit", Quantity(per_unit, "", "workgroups / compute units")
    fits = fitting(row, device) if row["vgprs"] else None
    if fits is None or device.gpu is None or not fits.workgroups_per_cu:
        return
    yield (
        "waves_of_grid",
        Quantity(per_unit / fits.workgroups_per_cu, "", "workgroups / workgroups that fit at once"),
    )
    waves = -(-row["workgroup_size"] // device.gpu.wave_size)
    for limiter, each in fits.limits.items():
        if name := _LIMITS.get(limiter):
            groups = each * device.gpu.simds_per_cu / waves
            yield name, Quantity(groups, "", f"workgroups that fit a compute unit by {limiter}")


def unit_table(
    kernel: str,
    values: Mapping[str, Quantity],
    point: KernelRoofline | None,
    gfx: str | None,
    launch: Mapping[str, Quantity] | None = None,
) -> Table:
    """Return the table of one kernel from its counters, its place on the roofline and its launch."""
    nvidia = is_nvidia(gfx)
    values = _of_own_time({**(launch or {}), **values})
    units = {
        use.unit: use for use in (*_of_roofline(point, nvidia=nvidia), *_of_counters(values, nvidia=nvidia))
    }
    ordered = {name: units[name] for name in unit_names() if name in units}
    readings = {reading.name: reading for reading in _readings(values)}
    if "achieved_occupancy" not in readings and point and (given := point.evidence.get("achieved_occupancy")):
        readings["achieved_occupancy"] = _reading("achieved_occupancy", "parallelism", given)
    return Table(kernel, nvidia, ordered, readings, _mean_ns(point, values), gfx or "")


def _mean_ns(point: KernelRoofline | None, values: Mapping[str, Quantity]) -> float | None:
    """Return the mean time of a dispatch, without a first one that did something else."""
    if point is None or not point.calls or not point.total_ns:
        return None
    first = values.get("first_share")
    if first is None or first.value is None or point.calls < 2:
        return point.total_ns / point.calls
    return point.total_ns * (1 - first.value) / (point.calls - 1)


def _of_own_time(values: dict[str, Quantity]) -> dict[str, Quantity]:
    """Return values whose shares are of the time of the dispatch, where the GPU was active for longer."""
    beyond = values.get("active_beyond")
    if beyond is None or beyond.value is None or beyond.value <= _BEYOND:
        return values
    names = (*_OF_ACTIVE_TIME, *(unit.metric for unit in unit_names().values() if unit.working), "unit_l2")
    for name in names:
        if name in values and (value := values[name].value) is not None:
            formula = f"{values[name].formula} * {beyond.formula}"
            values[name] = replace(values[name], value=value * beyond.value, formula=formula)
    return values


def _of_counters(values: Mapping[str, Quantity], *, nvidia: bool) -> Iterator[UnitUse]:
    for name, unit in unit_names().items():
        for metric in (unit.metric, unit.working):
            busy = values.get(metric)
            if busy is not None and busy.known:
                title, useful = unit.title(nvidia=nvidia), _useful(unit, values)
                yield UnitUse(name, title, _doubted(busy, _ABOVE[name == VECTOR]), useful, "counters")
                break


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
        unit = _ROOFS.get(name) or (
            MATRIX if name.endswith("matrix") else VECTOR if kind == "compute" else ""
        )
        if name == SM:
            continue  # that something of an SM is full, not which of a dozen units
        if unit and percent <= IMPLAUSIBLE and percent / 100 > busiest.get(unit, (0.0, ""))[0]:
            busiest[unit] = (percent / 100, name)
    for unit, (share, name) in busiest.items():
        formula = f"rate / the peak of {name}"
        title = f"{unit_names()[unit].title(nvidia=nvidia)}, {name}" if unit in (MATRIX, VECTOR) else name
        yield UnitUse(unit, title, _doubted(Quantity(share, "", formula), _ABOVE[False]), None, source)


def _doubted(busy: Quantity, why: str) -> Quantity:
    """Return a share, with the reason if it is more than all."""
    above = busy.value is not None and busy.value > 1 and not busy.doubt
    return msgspec.structs.replace(busy, doubt=why) if above else busy


def _readings(values: Mapping[str, Quantity]) -> Iterator[Reading]:
    for group, names in _GROUPS.items():
        for name in names:
            value = values.get(name)
            if value is not None and value.value is not None:
                yield _reading(name, group, value)


def _reading(name: str, group: Literal["waits", "parallelism", "work"], value: Quantity) -> Reading:
    title = _TITLES.get(name) or metrics()[name].title
    return Reading(name, group, title, value, "launch geometry" if name in _TITLES else "counters")
