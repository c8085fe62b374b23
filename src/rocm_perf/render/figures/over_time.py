"""Memory, power, clocks and temperatures of GPUs over time."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from rocm_perf.model.results.energy import Energy, SensorSeries
from rocm_perf.model.results.memory import Memory, MemoryUse
from rocm_perf.render.figures.axes import Unit, size_unit
from rocm_perf.render.figures.curves import Curve, Diagram, curves_figure
from rocm_perf.render.figures.figure import WIDE, Drawn, Missing
from rocm_perf.units import format_bytes, format_count

_GPUS = 8  # lines that are told apart
_TITLES = {
    "power_w": "Power",
    "clock_mhz": "Clock",
    "memory_clock_mhz": "Memory clock",
    "temperature_c": "Temperature",
    "temperature_edge_c": "Temperature at the edge",
    "temperature_memory_c": "Temperature of the memory",
    "utilization_percent": "Utilisation, as the driver reports it",
}
_LEVELS = {
    "REAL": "Allocated on the GPU, from recorded allocations",
    "CACHED": "In use of the framework's allocator, from recorded allocations",
    "SNAPSHOT": "Allocated by torch, from a snapshot of its allocator",
    "vram_used_bytes": "Device memory in use, as the driver reports it",
    "vram_bytes": "Device memory in use, as the driver reports it",
    "torch_allocated_bytes": "Allocated by torch",
    "torch_reserved_bytes": "Reserved by torch",
}
_NO_READINGS = "no power, clock or temperature was read more than once"


def sensors_figure(energy: Energy, width: float = WIDE) -> Drawn:
    """One diagram per kind of sensor, one line per GPU; a band where several readings became one."""
    metrics = list(dict.fromkeys(series.metric for series in energy.sensors))
    if not metrics:
        return Missing(energy.unavailable or _NO_READINGS)
    several = len({series.node for series in energy.sensors}) > 1
    diagrams = [
        _diagram(metric, [one for one in energy.sensors if one.metric == metric][:_GPUS], several=several)
        for metric in metrics
    ]
    names = ", ".join(diagram.title for diagram in diagrams).lower()
    return curves_figure(f"Over time: {names}.", diagrams, "time since the first reading", width)


def _diagram(metric: str, series: Sequence[SensorSeries], *, several: bool) -> Diagram:
    unit = "°C" if series[0].unit == "C" else series[0].unit
    return Diagram(
        title=f"{_TITLES.get(metric, metric)}, {unit}" if unit else _TITLES.get(metric, metric),
        unit=Unit(1, ""),
        curves=[_sensor(one, _gpu(one.node, one.agent_id, several=several)) for one in series],
        from_zero=not metric.startswith("temperature"),
    )


def _sensor(series: SensorSeries, name: str) -> Curve:
    low, high = min(series.lowest), max(series.highest)
    about = (
        f"{name}: {_TITLES.get(series.metric, series.metric)}\n"
        f"{low:,.4g} to {high:,.4g} {series.unit}, mean {fmean(series.mean):,.4g}\n"
        f"{format_count(series.readings, 'reading')}"
    )
    return Curve(
        name=name,
        about=about,
        at_ns=series.at_ns,
        values=series.mean,
        lowest=series.lowest,
        highest=series.highest,
    )


def memory_figure(memory: Memory, width: float = WIDE) -> Drawn:
    """One diagram per source of what is in use, one line per GPU; each point is the highest of its time."""
    rows = [row for row in memory.rows if row.peak_bytes > 0 and len(row.series_bytes) > 1]
    if not rows:
        return Missing(memory.unavailable or "memory in use was not recorded over time")
    several = len({row.node for row in rows}) > 1
    kinds = dict.fromkeys((row.level, row.source) for row in rows)
    diagrams = [
        Diagram(
            title=_LEVELS.get(level, f"{level}, by {source}"),
            unit=size_unit(max(row.peak_bytes for row in rows if (row.level, row.source) == (level, source))),
            curves=[
                _use(row, _gpu(row.node, row.agent_id, several=several))
                for row in rows
                if (row.level, row.source) == (level, source)
            ][:_GPUS],
        )
        for level, source in kinds
    ]
    peak = format_bytes(max(row.peak_bytes for row in rows))
    return curves_figure(
        f"Memory in use over time, at most {peak}.", diagrams, "time since the first reading", width
    )


def _use(row: MemoryUse, name: str) -> Curve:
    return Curve(
        name=name,
        about=f"{name}: {row.level}\npeak {format_bytes(row.peak_bytes)}, at the end {format_bytes(row.last_bytes)}",
        at_ns=[row.start_ns + place * row.step_ns for place in range(len(row.series_bytes))],
        values=row.series_bytes,
        held=True,
    )


def _gpu(node: int, agent: int | None, *, several: bool) -> str:
    name = "GPU" if agent is None else f"GPU {agent}"
    return f"node {node}, {name}" if several else name
