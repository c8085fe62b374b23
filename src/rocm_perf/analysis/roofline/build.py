"""The roofline of a recording: every kernel, from counters where there are any, else from what was counted without a
GPU, else from operator shapes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import polars as pl

from rocm_perf.analysis.basis.counters_refused import no_counters_for
from rocm_perf.analysis.basis.passes import dispatches_by_kernel
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.analysis.operators.tree import has_operators, operator_tree
from rocm_perf.analysis.roofline.amounts import SCHEMA, Key, Work, filled
from rocm_perf.analysis.roofline.ceilings import ceilings
from rocm_perf.analysis.roofline.counted import (
    ALL_BYTES,
    ALL_FLOPS,
    counted_work,
    metric_tables,
    why_not,
    work_metrics,
)
from rocm_perf.analysis.roofline.devices import Device, devices, on_device
from rocm_perf.analysis.roofline.direct import OCCUPANCY, direct_percents
from rocm_perf.analysis.roofline.emulated import emulated_work
from rocm_perf.analysis.roofline.means import TIME, Means, means
from rocm_perf.analysis.roofline.points import Facts, kernel_roofline
from rocm_perf.analysis.roofline.shapes import shaped_work
from rocm_perf.analysis.roofline.times import NO_TIMES, Times, times
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.metrics import MetricTable, quantity
from rocm_perf.model.machine_ceilings import MATRIX, VECTOR, MachineCeilings
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.roofline import Ceiling, KernelRoofline, Roofline, RooflineGpu, Spread
from rocm_perf.model.run import SIMULATOR
from rocm_perf.model.trace import Trace

FORMULAS = {
    "roofline.operational_intensity": "FLOPs / bytes of the device memory",
    "roofline.percent_of_roof": "100 * least time at the ceilings / time; the least time is the largest of bytes / "
    "bandwidth of each level and the sum of FLOPs / peak over the dtypes of each kind of unit",
    "roofline.regime": "compute or memory from 50 % of a measured ceiling, or 35 % of the peak of a data sheet, on; "
    "latency below that, if all of its work was counted",
}
NO_KERNELS = "the recording holds no dispatches"
NO_WORK = "neither counters nor operators with shapes were recorded"
_COUNTERS_SHOWN = "rocm-perf list-counters --arch GFX --plan full_profile says how to record counters; "
_OTHER_WORK = (
    "torch.profiler with record_shapes=True records shapes; rocm-perf count SNAP --json, saved beside the recording, "
    "counts a captured kernel without a GPU"
)
NO_OPERATOR = "it was launched by no operator that is recorded"
EVIDENCE = frozenset((OCCUPANCY, "wait_share", "issue_wait_share"))


Ceilings = tuple[Mapping[str, Ceiling], ...]
Machines = tuple[MachineCeilings, ...]


class _Recording(msgspec.Struct, frozen=True):
    """A recording and what is known of its GPUs; everything by device is in the order of the devices."""

    trace: Trace
    devices: tuple[Device, ...]
    ceilings: Ceilings
    times: Times
    tables: tuple[MetricTable | None, ...]


def roofline(trace: Trace, *, gpu: Gpu | None = None, machines: Machines = ()) -> Roofline:
    """Every kernel with its ceilings, or the reason why it has no place among them.

    A `gpu` overrides what the recording says about the machine. `machines`: what GPUs were measured to reach.
    """
    if gpu is None:
        return _as_recorded(trace, machines)
    return _on(devices(trace, gpu), trace, machines)


@once_per_trace
def _as_recorded(trace: Trace, machines: Machines) -> Roofline:
    return _on(devices(trace), trace, machines)


def _on(known: tuple[Device, ...], trace: Trace, machines: Machines) -> Roofline:
    if not trace.has("dispatches"):
        return Roofline((), (), unavailable=NO_KERNELS)
    recorded = trace.table("ceilings")
    if trace.run.tool == SIMULATOR:
        machines = ()  # a simulated GPU has the peaks of its data sheet
    asked = work_metrics() | EVIDENCE if trace.has("counters") else frozenset[str]()
    recording = _Recording(
        trace,
        known,
        tuple(ceilings(device, recorded, machines) for device in known),
        times(trace, known),
        metric_tables(trace, known, asked),
    )
    work = counted_work(recording.tables, known, recording.times)
    work = filled(work, emulated_work(trace, known, recording.times))
    if has_operators(whole_of(trace)):
        work = filled(work, shaped_work(trace, operator_tree(trace), known, recording.times))
    return Roofline(_gpus(known, recording.ceilings), _kernels(recording, work))


def _gpus(known: tuple[Device, ...], peaks: Ceilings) -> tuple[RooflineGpu, ...]:
    return tuple(
        RooflineGpu(
            name=device.name,
            gfx=device.gfx,
            agents=tuple(agent for _, agent in device.agents),
            ceilings=tuple(ceilings.values()),
            told_by=device.identified_by,
            notes=device.notes,
            unavailable=None if ceilings else device.reason,
        )
        for device, ceilings in zip(known, peaks, strict=True)
    )


def _kernels(recording: _Recording, work: Work) -> tuple[KernelRoofline, ...]:
    known, timing = means(work, recording.times), _timing(recording.times)
    spreads = _spreads(work, recording.times, recording.ceilings)
    direct = direct_percents(recording.trace, recording.devices)
    rows = []
    for key, (count, total) in _calls(recording, work).items():
        place, kernel = key
        of_kernel = known.get(key, Means())
        most = max(of_kernel.amounts, key=lambda amount: amount.dispatches, default=None)
        facts = Facts(
            kernel=kernel,
            gpu=place,
            calls=count,
            total_ns=total,
            dispatches=most.dispatches if most else 0,
            time_ns=most.time_ns if most else timing.get(key, unavailable("ns", TIME, NO_TIMES)),
            amounts=of_kernel.amounts,
            whole=of_kernel.whole,
            all_flops=key in work.all_flops,
            no_flops=_why_not(ALL_FLOPS, recording, place, work.reasons.get(key)),
            no_bytes=_why_not(ALL_BYTES, recording, place, work.reasons.get(key)),
            direct=direct.get(key, {}),
            spread=spreads.get(key),
            evidence=_evidence(key, recording, direct.get(key, {})),
            notes=work.notes.get(key, ()),
        )
        rows.append(kernel_roofline(facts, recording.devices[place], recording.ceilings[place]))
    return tuple(rows)


def _why_not(metric: str, recording: _Recording, place: int, by_shapes: str | None) -> str:
    table, device = recording.tables[place], recording.devices[place]
    if table is not None:
        return why_not(table, metric)
    if recording.trace.has("counters") and device.chip is None:
        return device.reason
    if by_shapes or has_operators(whole_of(recording.trace)):
        return by_shapes or NO_OPERATOR
    return f"{NO_WORK} ({'' if no_counters_for(recording.trace) else _COUNTERS_SHOWN}{_OTHER_WORK})"


def _calls(recording: _Recording, work: Work) -> dict[Key, tuple[int, int]]:
    """Kernels with their dispatches and total time, longest first; those without times come last."""
    clock = recording.times
    dispatches = on_device(dispatches_by_kernel(recording.trace), recording.devices)
    shown = dispatches.filter(pl.col("pass_id") == clock.number)
    listed = shown.group_by("gpu", "kernel").agg(pl.len().alias("calls"))
    timed = clock.by_kernel(pl.col("duration_ns").sum().cast(pl.Int64).alias("total"))
    table = listed.join(timed, on=["gpu", "kernel"], how="left").with_columns(pl.col("total").fill_null(0))
    ordered = table.sort(["total", "kernel"], descending=[True, False])
    totals: dict[Key, tuple[int, int]] = {
        (gpu, kernel): (calls, total) for gpu, kernel, calls, total in ordered.iter_rows()
    }
    return totals | {key: (0, 0) for key, _ in work.known if key not in totals}


def _timing(clock: Times) -> dict[Key, Quantity]:
    """The mean time of all dispatches of each kernel."""
    table = clock.by_kernel(pl.col("duration_ns").mean().alias("mean"), pl.len())
    return {
        (gpu, kernel): Quantity(
            value=mean, unit="ns", formula=f"mean of {clock.basis}", inputs={"dispatches": count}
        )
        for gpu, kernel, mean, count in table.iter_rows()
    }


def _spreads(work: Work, clock: Times, peaks: Ceilings) -> dict[Key, Spread]:
    """percent_of_roof of each dispatch that has both its work and its time."""
    rates = pl.DataFrame(
        [
            (place, name, _group(name), ceiling.rate.value)
            for place, ceilings in enumerate(peaks)
            for name, ceiling in ceilings.items()
        ],
        {"gpu": pl.Int32, "ceiling": SCHEMA["ceiling"], "group": pl.String, "rate": pl.Float64},
        orient="row",
    )
    least = (
        work.amounts.drop_nulls("slot")
        .join(rates, on=["gpu", "ceiling"], how="inner")
        .with_columns((pl.col("amount") / pl.col("rate") / 1000).alias("least"))
        .group_by("slot", "group")
        .agg(pl.col("least").sum())
        .group_by("slot")
        .agg(pl.col("least").max())
    )
    percent = 100 * pl.col("least") / pl.col("duration_ns")
    table = (
        least.join(clock.timed, on="slot")
        .group_by("gpu", "kernel")
        .agg(
            percent.min().alias("low"),
            percent.median().alias("middle"),
            percent.max().alias("high"),
            pl.len(),
        )
    )
    return {
        (gpu, kernel): Spread(
            least=low,
            median=middle,
            greatest=high,
            dispatches=count,
            doubt="above 100 %: see percent_of_roof" if high > 100 else None,
        )
        for gpu, kernel, low, middle, high, count in table.iter_rows()
    }


def _group(ceiling: str) -> str:
    return next((unit for unit in (MATRIX, VECTOR) if ceiling.endswith(unit)), ceiling)


def _evidence(key: Key, recording: _Recording, given: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Occupancy and waits of a kernel, where they were counted."""
    place, kernel = key
    table, device = recording.tables[place], recording.devices[place]
    evidence = {OCCUPANCY: given[OCCUPANCY]} if OCCUPANCY in given else {}
    if table is None:
        return evidence
    for name in sorted(EVIDENCE & table.evaluations.keys()):
        value = quantity(table, name, kernel)
        if value.known and device.serves(table.evaluations[name].constants):
            evidence[name] = value
    return evidence
