"""Energy from power readings: the trapezoid between two readings, shared among the kernels that ran meanwhile.

A sensor that is read every 100 ms cannot tell two kernels of 10 us apart. Energy is therefore shared in proportion to
time, and the result says how coarse the readings are beside the kernels.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint
from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.basis.readings import HIGHEST, MEAN, READINGS, points
from rocm_perf.analysis.program.ranges import step_spans
from rocm_perf.analysis.program.sensors import sensor_series
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.energy import Energy, FamilyEnergy, GpuEnergy, KernelEnergy, StepEnergy
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_S, format_ns

FORMULAS = {
    "energy.gpus.energy": "sum over neighbouring readings of (p0 + p1) / 2 * (t1 - t0)",
    "energy.gpus.busy_j": "the same integral over the union of kernel intervals",
    "energy.kernels.energy_j": "integral over the kernel's intervals, scaled so that all kernels together use busy_j",
}
NO_POWER = "no power was read (record it with amd-smi, or with a profiler that reads it)"
SINGLE = "power was read once: energy needs readings over time"

_GPU = ["node", "agent_id"]
_UNKNOWN = -(1 << 63)  # in place of a null agent_id: an as-of join matches no nulls
_ENERGY = "trapezoid of power_w over time"


def energy(trace: Trace, steps: pl.DataFrame | None = None) -> Energy:
    """Joules of each GPU, kernel and step. `steps` has name, node, start_ns and end_ns; by default from the ranges."""
    power = _readings(trace, "power_w")
    if not power.height:
        recorded = trace.table("samples").filter(pl.col("metric") == "power_w").height
        return Energy(
            gpus=(),
            kernels=(),
            families=(),
            steps=(),
            left_out=0,
            limits=(),
            sensors=sensor_series(trace),
            unavailable=SINGLE if recorded else NO_POWER,
        )
    curve = _curve(power)
    kernels = _clipped(_matched(trace, curve), curve)
    shared = _shared(kernels, curve)
    gpus = _gpus(trace, curve, shared)
    rows = _kernels(shared)
    return Energy(
        gpus=gpus,
        kernels=rows,
        families=_families(rows),
        steps=_steps(step_spans(trace) if steps is None else steps, curve),
        left_out=timed_dispatches(trace).height - shared.height,
        limits=_limits(gpus, shared, curve),
        kernels_unavailable=None if rows else _why_no_kernels(trace),
        sensors=sensor_series(trace),
    )


def _readings(trace: Trace, metric: str) -> pl.DataFrame:
    """Readings in order; several at one instant count as their mean. GPUs with a single one are left out."""
    rows = trace.table("samples").filter(pl.col("metric") == metric).drop_nulls(["time_ns", "value"])
    means = (
        points(rows)
        .group_by(*_GPU, "time_ns", "opens")
        .agg(
            pl.col("value").mean(),
            HIGHEST.max().alias("highest"),
            READINGS.max().alias("readings"),
            (pl.col("end_ns") - pl.col("start_ns")).max().alias("thinned_ns"),
        )
    )
    return means.filter(pl.len().over(_GPU) > 1).sort(*_GPU, "time_ns", "opens")


def _curve(power: pl.DataFrame) -> pl.DataFrame:
    """Power as it runs from reading to reading: joules until then, and the slope until the next."""
    span = (pl.col("time_ns").shift(-1) - pl.col("time_ns")).over(_GPU)
    rise = (pl.col("value").shift(-1) - pl.col("value")).over(_GPU)
    piece = ((pl.col("value") + rise / 2) * span / NS_PER_S).fill_null(0.0)
    return power.with_columns(
        pl.when(span > 0).then(rise / span).fill_null(0.0).alias("slope"),
        (piece.cum_sum().over(_GPU) - piece).alias("joules"),
        pl.col("time_ns").min().over(_GPU).alias("first_ns"),
        pl.col("time_ns").max().over(_GPU).alias("last_ns"),
    )


def _until(curve: pl.DataFrame, points: pl.DataFrame) -> pl.Series:
    """Return the joules from the first reading to each point (node, agent_id, time_ns) between first and last."""
    named = pl.col("agent_id").fill_null(_UNKNOWN)
    numbered = points.with_columns(named).with_row_index("point").sort("time_ns")
    known = curve.select(
        "node", named, pl.col("time_ns").alias("read_ns"), "time_ns", "value", "slope", "joules"
    )
    placed = numbered.join_asof(
        known.sort("time_ns", maintain_order=True),
        on="time_ns",
        by=_GPU,
        strategy="backward",
        check_sortedness=False,
    ).sort("point")
    since = pl.col("time_ns") - pl.col("read_ns")
    power = pl.col("value") + pl.col("slope") * since / 2
    return placed.select((pl.col("joules") + power * since / NS_PER_S).alias("joules")).to_series()


def _between(curve: pl.DataFrame, spans: pl.DataFrame) -> pl.Series:
    start, end = (
        _until(curve, spans.select(*_GPU, pl.col(edge).alias("time_ns"))) for edge in ("start_ns", "end_ns")
    )
    joules: pl.Series = (end - start).alias("joules")
    return joules


def _windows(curve: pl.DataFrame) -> pl.DataFrame:
    return curve.select(*_GPU, "first_ns", "last_ns").unique(_GPU, maintain_order=True)


def _matched(trace: Trace, curve: pl.DataFrame) -> pl.DataFrame:
    """Kernels with the sensor of their GPU in the place of agent_id."""
    kernels = timed_dispatches(trace).select(*_GPU, "kernel", "start_ns", "end_ns")
    measured = kernels.join(sensors_of_gpus(trace, _windows(curve)), on=_GPU, nulls_equal=True)
    return measured.rename({"agent_id": "kernels_of", "sensor": "agent_id"})


def sensors_of_gpus(trace: Trace, readings: pl.DataFrame) -> pl.DataFrame:
    """Return the GPUs that ran kernels (node, agent_id) with the agent_id of their readings as `sensor`.

    It is the same number, the number among the GPUs, or, with one GPU on either side, that one. A kernel or a reading
    of an unknown GPU has only the last way.
    """
    sensors = set(readings.select(_GPU).iter_rows())
    used = list(timed_dispatches(trace).select(_GPU).unique(maintain_order=True).iter_rows())
    logical = {
        (node, agent): index
        for node, agent, index in trace.table("agents")
        .select("node", "agent_id", "logical_index")
        .iter_rows()
    }
    pairs = []
    for node, agent in used:
        on_node = [sensor for other, sensor in sensors if other == node]
        numbers = (agent, logical.get((node, agent)))
        same = next((number for number in numbers if number is not None and (node, number) in sensors), None)
        if same is not None:
            pairs.append((node, agent, same))
        elif len(on_node) == 1 and sum(other == node for other, _ in used) == 1:
            pairs.append((node, agent, on_node[0]))
    schema = {"node": pl.Int32, "agent_id": pl.Int64, "sensor": pl.Int64}
    return pl.DataFrame(pairs, schema=schema, orient="row")


def _clipped(kernels: pl.DataFrame, curve: pl.DataFrame) -> pl.DataFrame:
    """The part of each kernel that lies between the first and the last reading."""
    placed = kernels.join(_windows(curve), on=_GPU, nulls_equal=True)
    inside = placed.filter((pl.col("end_ns") > pl.col("first_ns")) & (pl.col("start_ns") < pl.col("last_ns")))
    return inside.with_columns(
        pl.max_horizontal("start_ns", "first_ns").alias("start_ns"),
        pl.min_horizontal("end_ns", "last_ns").alias("end_ns"),
    )


def _shared(kernels: pl.DataFrame, curve: pl.DataFrame) -> pl.DataFrame:
    """Kernels with their joules. Where kernels overlap, all of the GPU's are scaled down to what it used."""
    if not kernels.height:
        return kernels.with_columns(pl.lit(None, pl.Float64).alias("joules"), pl.lit(0.0).alias("busy_j"))
    union = disjoint(kernels.select(*_GPU, "start_ns", "end_ns"), _GPU)
    busy = (
        union.with_columns(_between(curve, union)).group_by(_GPU).agg(pl.col("joules").sum().alias("busy_j"))
    )
    alone = kernels.with_columns(_between(curve, kernels))
    scaled = alone.join(busy, on=_GPU, nulls_equal=True).with_columns(
        (pl.col("joules") * (pl.col("busy_j") / pl.col("joules").sum().over(_GPU))).alias("joules")
    )
    return scaled.with_columns(pl.col("joules").fill_nan(0.0))


def _kernels(shared: pl.DataFrame) -> tuple[KernelEnergy, ...]:
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    table = shared.group_by("kernel").agg(
        pl.len().alias("dispatches"), length.alias("gpu_ns"), pl.col("joules").sum().alias("energy_j")
    )
    ordered = table.sort(["energy_j", "kernel"], descending=[True, False])
    return tuple(
        KernelEnergy(
            kernel=kernel,
            dispatches=count,
            gpu_ns=span,
            energy_j=joules,
            mean_power_w=joules * NS_PER_S / span if span else 0.0,
        )
        for kernel, count, span, joules in ordered.iter_rows()
    )


def _families(rows: tuple[KernelEnergy, ...]) -> tuple[FamilyEnergy, ...]:
    members: dict[str, list[KernelEnergy]] = {}
    for row in rows:
        members.setdefault(family(row.kernel).name, []).append(row)
    families = (
        FamilyEnergy(
            family=name,
            dispatches=sum(row.dispatches for row in kernels),
            gpu_ns=sum(row.gpu_ns for row in kernels),
            energy_j=sum(row.energy_j for row in kernels),
        )
        for name, kernels in members.items()
    )
    return tuple(sorted(families, key=lambda row: -row.energy_j))


def _gpus(trace: Trace, curve: pl.DataFrame, shared: pl.DataFrame) -> tuple[GpuEnergy, ...]:
    clocks = (
        trace.table("samples").filter(pl.col("metric") == "clock_mhz").group_by(_GPU).agg(MEAN.alias("clock"))
    )
    window = pl.col("time_ns").last() - pl.col("time_ns").first()
    busy = shared.group_by(_GPU).agg(pl.col("busy_j").first(), pl.col("kernels_of").first())
    table = (
        curve.group_by(_GPU, maintain_order=True)
        .agg(
            pl.col("readings").filter("opens").sum(),
            pl.coalesce(pl.col("time_ns").filter("opens").diff().median(), window).alias("interval"),
            window.alias("window"),
            pl.col("joules").last(),
            pl.col("highest").max().alias("peak"),
        )
        .join(busy, on=_GPU, how="left", nulls_equal=True, maintain_order="left")
        .join(clocks, on=_GPU, how="left", nulls_equal=True, maintain_order="left")
    )
    return tuple(_gpu(row) for row in table.iter_rows(named=True))


def _gpu(row: dict[str, Any]) -> GpuEnergy:
    joules, window, busy = row["joules"], row["window"], row["busy_j"] or 0.0
    clock = (
        unavailable("MHz", "mean of clock_mhz", "no clock was read")
        if row["clock"] is None
        else Quantity(row["clock"], "MHz", "mean of clock_mhz")
    )
    inputs = {"energy_j": joules, "window_ns": window}
    return GpuEnergy(
        node=row["node"],
        agent_id=row["agent_id"],
        kernels_of=row["kernels_of"],
        readings=row["readings"],
        interval_ns=row["interval"],
        window_ns=window,
        energy=Quantity(
            value=joules, unit="J", formula=_ENERGY, inputs={"readings": row["readings"], "window_ns": window}
        ),
        mean_power=Quantity(
            value=joules * NS_PER_S / window, unit="W", formula="energy / window_ns", inputs=inputs
        ),
        peak_power_w=row["peak"],
        mean_clock=clock,
        busy_j=busy,
        idle_j=joules - busy,
    )


def _steps(steps: pl.DataFrame, curve: pl.DataFrame) -> tuple[StepEnergy, ...]:
    """Steps that lie within the readings, each with the joules of all GPUs of the node."""
    placed = steps.join(_windows(curve), on="node", nulls_equal=True)
    inside = placed.filter(
        (pl.col("start_ns") >= pl.col("first_ns")) & (pl.col("end_ns") <= pl.col("last_ns"))
    )
    if not inside.height:
        return ()
    whole = inside.with_columns(_between(curve, inside))
    sums = whole.group_by("name", "start_ns", "end_ns", maintain_order=True).agg(pl.col("joules").sum())
    return tuple(StepEnergy(*row) for row in sums.sort("start_ns").iter_rows())


def _limits(gpus: tuple[GpuEnergy, ...], shared: pl.DataFrame, curve: pl.DataFrame) -> tuple[str, ...]:
    interval = max(gpu.interval_ns for gpu in gpus)
    limits = [
        f"power was read every {format_ns(interval)}; what it did in between is taken as a straight line"
    ]
    thinned: Any = curve["thinned_ns"].median()
    if thinned is not None:
        limits.append(
            f"older readings are thinned to {format_ns(thinned)}, of which each is taken as its mean"
        )
    median = shared.select((pl.col("end_ns") - pl.col("start_ns")).median()).item() if shared.height else None
    if median is not None and median < interval:
        limits.append(
            f"half of the kernels take less than {format_ns(median)}, which one reading cannot resolve: "
            "their energy is a share in proportion to time, so kernels that ran side by side get the same power"
        )
    return tuple(limits)


def _why_no_kernels(trace: Trace) -> str:
    if not timed_dispatches(trace).height:
        return "no kernel with times was recorded beside the power readings"
    return "no kernel ran on a GPU and at a time of which power was read (other clock, or other numbering of GPUs)"
