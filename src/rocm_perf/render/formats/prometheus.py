"""What an analysis says of a run as gauges in Prometheus' text format (version 0.0.4), for a node exporter's textfile
collector or a push gateway. Names follow Prometheus' conventions: base units, and the unit at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rocm_perf.files import write_whole
from rocm_perf.model.document import Document
from rocm_perf.units import NS_PER_S

MOST_KERNELS = 100  # a label with thousands of values would burden the server

Labels: TypeAlias = Mapping[str, object]


class Gauge(NamedTuple):
    """One metric: its name without the prefix, what it says, and its values by labels; None where there is none."""

    name: str
    help: str
    values: Sequence[tuple[Labels, float | None]]


def write(document: Document, path: Path, *, overwrite: bool = False) -> None:
    """Write the gauges of a run."""
    text = "".join(_lines(gauges(document)))
    # A name that is not UTF-8 shows its bytes.
    data = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").encode()
    write_whole(path, lambda draft: draft.write_bytes(data), overwrite=overwrite)


def gauges(document: Document) -> Iterator[Gauge]:
    """The gauges in their order."""
    yield from _of_run(document)
    yield from _of_gpus(document)
    yield from _of_kernels(document)
    yield from _of_copies(document)
    yield from _of_findings(document)


def _of_run(document: Document) -> Iterator[Gauge]:
    run = document.run
    info = {"tool": run.tool, "command": run.command or "", "producer": document.producer}
    yield Gauge("run_info", "The run, always 1.", [(info, 1)])
    yield Gauge("wall_seconds", "Wall time of the judged part of the run.", [({}, _s(document.wall_ns))])
    phases = [({"phase": phase.name}, _s(phase.duration_ns)) for phase in document.phases.rows]
    yield Gauge("phase_seconds", "Length of each phase of the run.", phases)
    yield Gauge("step_seconds", "Median length of a step.", [({}, _s(document.phases.step_ns.value))])
    yield Gauge("steps", "Steps in the steady state.", [({}, document.phases.steps)])


def _of_gpus(document: Document) -> Iterator[Gauge]:
    gpus = [({"node": gpu.node, "gpu": gpu.agent_id}, gpu) for gpu in document.devices]
    yield Gauge(
        "gpu_busy_ratio",
        "Share of the GPU's window in which a kernel or copy ran, 0 to 1.",
        [(labels, gpu.busy.value) for labels, gpu in gpus],
    )
    yield Gauge(
        "gpu_busy_seconds",
        "Time in which a kernel or copy ran.",
        [(labels, _s(gpu.busy_ns)) for labels, gpu in gpus],
    )
    yield Gauge(
        "gpu_idle_seconds",
        "Time from the GPU's first work to its last in which nothing ran.",
        [(labels, _s(gpu.idle_ns)) for labels, gpu in gpus],
    )
    causes = [({"cause": row.cause}, _s(row.total_ns)) for row in document.gaps.causes]
    yield Gauge("idle_cause_seconds", "Idle time of all GPUs by its cause.", causes)
    powers = [
        ({"node": gpu.node, "gpu": gpu.agent_id}, gpu.mean_power.value, gpu.energy.value)
        for gpu in document.energy.gpus
    ]
    yield Gauge("gpu_power_watts", "Mean power.", [(labels, watts) for labels, watts, _ in powers])
    yield Gauge("gpu_energy_joules", "Energy.", [(labels, joules) for labels, _, joules in powers])


def _of_kernels(document: Document) -> Iterator[Gauge]:
    hotspots = document.hotspots
    shown = [({"kernel": row.kernel}, row) for row in hotspots.rows[:MOST_KERNELS]]
    which = f"of the {MOST_KERNELS} kernels that take longest"
    yield Gauge("kernels", "Different kernels.", [({}, hotspots.kernels)])
    yield Gauge("dispatches", "Dispatches of all kernels.", [({}, hotspots.dispatches)])
    yield Gauge("dispatch_seconds", "Time of all dispatches, summed.", [({}, _s(hotspots.total_ns))])
    yield Gauge("kernel_calls", f"Dispatches {which}.", [(labels, row.calls) for labels, row in shown])
    yield Gauge(
        "kernel_seconds", f"Time {which}, summed.", [(labels, _s(row.total_ns)) for labels, row in shown]
    )


def _of_copies(document: Document) -> Iterator[Gauge]:
    copies = [({"direction": row.kind}, row) for row in document.copies]
    yield Gauge("copies", "Copies and fills.", [(labels, row.copies) for labels, row in copies])
    yield Gauge(
        "copy_seconds", "Time of copies, summed.", [(labels, _s(row.total_ns)) for labels, row in copies]
    )
    yield Gauge("copy_bytes", "Bytes copied.", [(labels, row.size_bytes) for labels, row in copies])


def _of_findings(document: Document) -> Iterator[Gauge]:
    findings = [
        ({"rank": rank, "id": one.id, "severity": one.severity, "title": one.title}, one)
        for rank, one in enumerate(document.findings, start=1)
    ]
    yield Gauge("finding_info", "The findings, always 1.", [(labels, 1) for labels, _ in findings])
    yield Gauge(
        "finding_stake_seconds",
        "Time that the remedy of a finding would save.",
        [({"rank": labels["rank"], "id": one.id}, _s(one.time_at_stake_ns)) for labels, one in findings],
    )


def _lines(shown: Iterable[Gauge]) -> Iterator[str]:
    """The text, without metrics that have no value."""
    for gauge in shown:
        name = f"rocm_perf_{gauge.name}"
        values = [(labels, value) for labels, value in gauge.values if value is not None]
        if values:
            yield f"# HELP {name} {gauge.help}\n# TYPE {name} gauge\n"
        for labels, value in values:
            yield f"{name}{_labels(labels)} {value!r}\n"


def _labels(labels: Labels) -> str:
    shown = [f'{name}="{_escaped(str(value))}"' for name, value in labels.items() if value is not None]
    return f"{{{','.join(shown)}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _s(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / NS_PER_S
