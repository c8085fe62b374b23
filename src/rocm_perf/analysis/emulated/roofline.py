"""Where a kernel meets the roofs of its GPU, by what it was counted to do.

Its bytes have two bounds. Every distinct line that is read has to come from memory once, and every one that is written
has to go there: that is the least, and so
gives the highest intensity. Every line that an access asks for, fetched anew each time, is the most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from rocm_perf.analysis.emulated.rows import INTEGER
from rocm_perf.analysis.roofline.amounts import EMULATED, Known
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.emulated import COMPULSORY, NOT_ALL_BYTES, OPERATIONS
from rocm_perf.analysis.roofline.points import Amount, Facts, kernel_roofline
from rocm_perf.model.machine_ceilings import MATRIX, VECTOR
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.count import Bound, EmulatedRoofline, Totals
from rocm_perf.model.results.roofline import Ceiling, RooflineGpu
from rocm_perf.units import format_ns

NO_TIME = "emulation has no time: --time says how long it takes on the GPU"
_REQUESTED = "lines that each access asks for, added up * bytes of a line"
_COMPUTE_NS = "the largest over kinds of units of the sum over types of operations / peak"
_MEMORY_NS = "bytes / bandwidth of the device memory"


class Traffic(msgspec.Struct, frozen=True):
    """Bounds on the bytes of the device memory."""

    least: float | None  # None: the footprint was not counted
    most: float


def emulated_roofline(
    kernel: str, totals: Totals, device: Device, ceilings: Mapping[str, Ceiling], time_ns: float | None
) -> EmulatedRoofline:
    """The kernel under the ceilings of a device, by compulsory bytes and by requested ones."""
    traffic = traffic_of(totals)
    facts = _facts(kernel, totals, traffic, device=device, time_ns=time_ns)
    compute = _compute_ns(facts, ceilings, device)
    memory, uncached = (_memory_ns(size, ceilings, device) for size in (traffic.least, traffic.most))
    bound, reason = _bound(compute, memory, uncached)
    return EmulatedRoofline(
        gpu=_gpu(device, ceilings),
        point=kernel_roofline(facts, device, ceilings),
        intensity_most=_intensity(totals.flops, traffic.least, COMPULSORY),
        intensity_least=_intensity(totals.flops, traffic.most, _REQUESTED),
        ridge=_ridge(facts, ceilings),
        compute_ns=compute,
        memory_ns=memory,
        uncached_ns=uncached,
        bound=bound,
        reason=reason,
    )


def traffic_of(totals: Totals) -> Traffic:
    """The least and the most that memory can have been asked for. Of scratch, the caches may keep everything; of a
    sample, workgroups that were not executed may share its lines, so that no more counts than is requested."""
    most = float(sum(one.lines * one.line_bytes for one in totals.accesses))
    if totals.footprint is None:
        return Traffic(None, most)
    requested = sum(one.bytes for one in totals.accesses if one.space != "scratch")
    compulsory = totals.footprint.compulsory_bytes
    return Traffic(float(min(compulsory, requested) if totals.footprint.is_scaled else compulsory), most)


def _facts(kernel: str, totals: Totals, traffic: Traffic, *, device: Device, time_ns: float | None) -> Facts:
    formula = "time / launch"
    time = Quantity(time_ns, "ns", "as given") if time_ns else unavailable("ns", formula, NO_TIME)
    amounts = tuple(_amounts(totals, traffic, device, time))
    return Facts(
        kernel=kernel,
        gpu=0,
        calls=1,
        total_ns=round(time_ns or 0),
        dispatches=1,
        time_ns=time,
        amounts=amounts,
        whole=amounts,
        all_flops=True,
        no_flops="",
        no_bytes=NOT_ALL_BYTES,
    )


def _amounts(totals: Totals, traffic: Traffic, device: Device, time_ns: Quantity) -> Iterator[Amount]:
    by_ceiling: dict[str, int] = {}
    for one in totals.operations:
        name = f"{one.dtype}{MATRIX if one.unit == 'matrix' else VECTOR}"
        by_ceiling[name] = by_ceiling.get(name, 0) + one.amount
    for name, amount in by_ceiling.items():
        unit = "OP" if name.startswith(INTEGER) else "FLOP"
        yield Amount(name, amount, Known(EMULATED, unit, OPERATIONS), time_ns)
    if traffic.least is not None:
        known = Known(EMULATED, "B", COMPULSORY, complete=False)
        yield Amount(device.memory, traffic.least, known, time_ns)
    if totals.lds:
        yield Amount(
            "LDS", totals.lds.bytes, Known(EMULATED, "B", "bytes that LDS accesses ask for"), time_ns
        )


def _compute_ns(facts: Facts, ceilings: Mapping[str, Ceiling], device: Device) -> Quantity:
    """The least time of the operations: types of one kind of unit take turns, kinds of units work side by side."""
    if not ceilings:
        return unavailable("ns", _COMPUTE_NS, device.reason)
    times: dict[str, float] = {MATRIX: 0.0, VECTOR: 0.0}
    for amount in facts.amounts:
        kind = next((unit for unit in times if amount.ceiling.endswith(unit)), None)
        if kind is None:
            continue
        peak = _rate(ceilings, amount.ceiling)
        if peak is None:
            why = f"no peak of {amount.ceiling} is known for {device.name}"
            return unavailable("ns", _COMPUTE_NS, why)
        times[kind] += amount.value / peak / 1000
    return Quantity(max(times.values()), "ns", _COMPUTE_NS, {unit.strip(): ns for unit, ns in times.items()})


def _memory_ns(size: float | None, ceilings: Mapping[str, Ceiling], device: Device) -> Quantity:
    rate = _rate(ceilings, device.memory)
    if size is None:
        return unavailable("ns", _MEMORY_NS, "distinct lines were not counted")
    if rate is None:
        return unavailable("ns", _MEMORY_NS, device.reason)
    return Quantity(size / rate / 1000, "ns", _MEMORY_NS, {"bytes": size, "bandwidth": rate})


def _rate(ceilings: Mapping[str, Ceiling], name: str) -> float | None:
    """TFLOP/s or TB/s: divided by 1000, operations or bytes per nanosecond."""
    ceiling = ceilings.get(name)
    return float(ceiling.rate.value) if ceiling and ceiling.rate.value else None


def _intensity(flops: int, size: float | None, formula: str) -> Quantity:
    formula = f"FLOPs / ({formula})"
    if size is None:
        return unavailable("FLOP/B", formula, "distinct lines were not counted")
    if not size:
        return unavailable("FLOP/B", formula, "it touches no memory")
    return Quantity(flops / size, "FLOP/B", formula, {"FLOPs": flops, "bytes": size})


def _ridge(facts: Facts, ceilings: Mapping[str, Ceiling]) -> Quantity:
    """The ridge of the peak at which its operations take longest; without operations, of the highest vector peak."""
    used = [amount for amount in facts.amounts if amount.ceiling.endswith((MATRIX, VECTOR))]
    taken = {
        amount.ceiling: amount.value / rate for amount in used if (rate := _rate(ceilings, amount.ceiling))
    }
    name = max(taken, key=lambda ceiling: taken[ceiling]) if taken else f"f32{VECTOR}"
    ceiling = ceilings.get(name)
    if ceiling is None or ceiling.ridge is None:
        return unavailable("FLOP/B", "peak rate / memory bandwidth", f"no peak of {name} is known")
    return ceiling.ridge


def _bound(compute: Quantity, memory: Quantity, uncached: Quantity) -> tuple[Bound | None, str]:
    """Which roof it meets first, whatever the caches do, or that they decide."""
    for part in (memory, uncached, compute):
        if part.value is None:
            return None, part.unavailable or ""
    least, most, computing = (float(part.value or 0) for part in (memory, uncached, compute))
    if not computing:
        return (
            "memory",
            f"it computes no floating-point numbers, and its distinct lines take {format_ns(least)}",
        )
    if least >= computing:
        return (
            "memory",
            f"its distinct lines alone take {format_ns(least)}, its operations {format_ns(computing)}",
        )
    if computing >= most:
        why = f"its operations take {format_ns(computing)}, all lines that it asks for {format_ns(most)}"
        return "compute", f"{why}, even if no cache served any"
    return "either", (
        f"its operations take {format_ns(computing)}, its lines from {format_ns(least)} to {format_ns(most)}: "
        "how often the caches serve them decides"
    )


def _gpu(device: Device, ceilings: Mapping[str, Ceiling]) -> RooflineGpu:
    return RooflineGpu(
        name=device.name,
        gfx=device.gfx,
        agents=(),
        ceilings=tuple(ceilings.values()),
        told_by=device.identified_by,
        notes=device.notes,
        unavailable=None if ceilings else device.reason,
    )
