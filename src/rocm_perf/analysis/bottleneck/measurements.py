"""What was measured of a kernel, each as a share in [0, 1] with its source: roofline, counters, thread trace, PC
samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rocm_perf.analysis.kernels.instructions import BOTH_WAITS, SCALAR_WAIT, VECTOR_WAIT
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.regime import IMPLAUSIBLE
from rocm_perf.arch.metrics import MetricTable, by_kernel
from rocm_perf.model.results.bottleneck import Evidence
from rocm_perf.model.results.instructions import KernelInstructions, KernelSamples
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.units import format_bytes, format_share

_METRICS: dict[str, tuple[str, str, str]] = {
    # metric: measurement, source, what it says
    "mfma_busy": ("matrix_busy", "busy counters", "the matrix units work {} of the time"),
    "valu_busy": ("vector_busy", "busy counters", "the vector units work {} of the time"),
    "l2_hit_rate": ("l2_hit_rate", "cache counters", "{} of the L2 requests hit"),
    "wait_share": ("wait_share", "wave counters", "waves wait {} of their time for something"),
    "lds_wait_share": (
        "lds_wait",
        "wave counters",
        "waves wait {} of their time to issue an LDS instruction",
    ),
    "lds_utilisation": ("lds_busy", "LDS counters", "the LDS is active {} of the time"),
    "vmem_per_valu": (
        "vmem_per_valu",
        "instruction counters",
        "for each vector instruction there are {} memory instructions",
    ),
    "valu_utilisation": ("lanes", "lane counters", "{} of the lanes work in vector instructions"),
    "achieved_occupancy": ("occupancy", "wave counters", "{} of the wave slots are taken on average"),
}
_CONFLICTS = "lds_conflict_rate"
FEW_HITS = 0.3  # of the L2 requests: two of three and more go to device memory
LITTLE = 1.0  # FLOP/B: every GPU of the catalogue computes several times more for each byte
_CONFLICT_CYCLES = "lds_conflict_cycles"
METRICS = frozenset((*_METRICS, _CONFLICTS, _CONFLICT_CYCLES))
# Read where what they stand in for was not counted: no preset records them for the verdict's sake.
STAND_INS = frozenset({_CONFLICT_CYCLES, "vmem_per_valu"})


def of_roofline(point: KernelRoofline) -> Iterator[Evidence]:
    """How near it comes to each ceiling, the nearest last. What is implausible proves nothing."""
    for position, percent in sorted(point.percent_of_roof.inputs.items(), key=lambda pair: pair[1]):
        if percent > IMPLAUSIBLE:
            continue
        name, source = _share_of(position)
        share = min(1.0, percent / 100)
        says = f"it reaches {format_share(share)} of {_roof(position)} ({point.basis})"
        doubt = point.percent_of_roof.doubt if position == point.position else None
        yield Evidence(name=name, value=share, unit="", says=says, source=source, doubt=doubt)


def _roof(position: str) -> str:
    """`compute (f16 matrix)` -> `the peak of the f16 matrix units`."""
    kind, _, name = position.partition(" (")
    name = name.removesuffix(")")
    return f"the peak of the {name} units" if kind == "compute" else f"the bandwidth of {name}"


def of_intensity(point: KernelRoofline) -> Iterator[Evidence]:
    """That it computes next to nothing for what it moves, where both were counted whole."""
    intensity = point.operational_intensity
    if intensity.value is not None and intensity.doubt is None and intensity.value < LITTLE:
        moved = format_bytes(float(point.bytes.value or 0))
        yield Evidence(
            name="little_work",
            value=float(intensity.value),
            unit="FLOP/B",
            says=f"it moves {moved} and computes {intensity.value:.2g} FLOPs for each byte: memory is its roof",
            source="operations and bytes",
        )


def _share_of(position: str) -> tuple[str, str]:
    """`memory (L2)` -> l2_share, bytes."""
    kind, _, level = position.partition(" ")
    if level == "(LDS)":
        return "lds_share", "LDS counters"
    if level == "(L2)":
        return "l2_share", "bytes"
    return f"{kind}_share", {"compute": "operations", "memory": "bytes"}[kind]


def of_profiler(point: KernelRoofline) -> Iterator[Evidence]:
    """The occupancy that the profiler computed itself."""
    occupancy = point.evidence.get("achieved_occupancy")
    if occupancy is not None and occupancy.value is not None and occupancy.value <= 1:
        name, source, says = _METRICS["achieved_occupancy"]
        value = float(occupancy.value)
        yield Evidence(
            name=name,
            value=value,
            unit="",
            says=says.format(format_share(value)),
            source=source,
            doubt=occupancy.doubt,
        )


def counted_metrics(
    tables: Sequence[MetricTable | None], known: Sequence[Device]
) -> dict[Key, dict[str, tuple[float, str | None]]]:
    """Value and doubt of each metric of each kernel."""
    counted: dict[Key, dict[str, tuple[float, str | None]]] = {}
    for place, (table, device) in enumerate(zip(tables, known, strict=True)):
        if table is None:
            continue
        for kernel, metric, value, doubt in (
            by_kernel(table).select("kernel", "metric", "value", "doubt").iter_rows()
        ):
            if device.serves(table.evaluations[metric].constants):
                counted.setdefault((place, kernel), {})[metric] = (value, doubt)
    return counted


def of_counters(metrics: Mapping[str, tuple[float, str | None]]) -> Iterator[Evidence]:
    """Measurements from counter metrics, without implausible values."""
    for metric, (value, doubt) in metrics.items():
        if metric == _CONFLICTS:
            share = value / (1 + value)  # from cycles lost for each useful one to a share of all
            says = f"{format_share(share)} of the LDS cycles are lost to bank conflicts"
            yield Evidence(
                name="lds_conflicts",
                value=share,
                unit="",
                says=says,
                source="LDS conflict counters",
                doubt=doubt,
            )
        elif metric == _CONFLICT_CYCLES:
            says = f"an LDS instruction loses {value:.2g} cycles to bank conflicts"
            yield Evidence(name=metric, value=value, unit="cycles", says=says, source="LDS conflict counters")
        elif metric == "vmem_per_valu":
            name, source, says = _METRICS[metric]
            text = says.format(f"{value:.2g}")
            yield Evidence(name=name, value=value, unit="", says=text, source=source, doubt=doubt)
        elif 0 <= value <= 1:
            name, source, says = _METRICS[metric]
            yield Evidence(
                name=name,
                value=value,
                unit="",
                says=says.format(format_share(value)),
                source=source,
                doubt=doubt,
            )


def of_thread_trace(traced: KernelInstructions) -> Iterator[Evidence]:
    """Stalls by cause, as a share of all cycles of the traced waves."""
    if not traced.total_cycles:
        return
    stalls = {cause.cause: cause.stall_cycles / traced.total_cycles for cause in traced.causes}
    memory = stalls.get(VECTOR_WAIT, 0.0) + stalls.get(BOTH_WAITS, 0.0)
    parts = {
        "memory_wait": (memory, "traced waves stall {} of their cycles for vector memory"),
        "lds_wait": (stalls.get(SCALAR_WAIT, 0.0), "they stall {} for LDS or scalar memory"),
        "barrier_wait": (stalls.get("barrier", 0.0), "they stall {} at barriers"),
    }
    for name, (share, says) in parts.items():
        yield Evidence(
            name=name,
            value=min(1.0, share),
            unit="",
            says=says.format(format_share(share)),
            source="thread trace",
            doubt=traced.doubt,
        )


def of_samples(sampled: KernelSamples) -> Iterator[Evidence]:
    classes = {row.name: row.share for row in sampled.classes}
    source = "PC samples"
    for name, kind, says in (
        ("memory_wait", "wait", "{} of the samples are at a wait for memory or LDS"),
        ("barrier_wait", "barrier", "{} of the samples are at a barrier"),
    ):
        share = classes.get(kind, 0.0)
        yield Evidence(name=name, value=share, unit="", says=says.format(format_share(share)), source=source)
    if sampled.lanes_active.value is not None:
        lanes = float(sampled.lanes_active.value)
        yield Evidence(
            name="lanes",
            value=lanes,
            unit="",
            says=f"{format_share(lanes)} of the lanes are active in the samples",
            source=source,
        )


def of_misses(measured: Mapping[str, Evidence]) -> Iterator[Evidence]:
    """Return that few of the requests to the L2 cache hit, where that is so, as a measurement of what misses."""
    hits = measured.get("l2_hit_rate")
    if hits is not None and hits.value <= FEW_HITS:
        yield Evidence(
            name="few_l2_hits",
            value=1 - hits.value,
            unit="",
            says=f"only {format_share(hits.value)} of the L2 requests hit: the others wait for device memory",
            source=hits.source,
            doubt=hits.doubt,
        )


def of_waits(measured: dict[str, Evidence]) -> Iterator[Evidence]:
    """An upper bound on waits for memory where their causes are unknown: all waits less those for the LDS."""
    if "memory_wait" in measured or "wait_share" not in measured:
        return
    waits = measured["wait_share"].value - (measured["lds_wait"].value if "lds_wait" in measured else 0.0)
    says = f"at most {format_share(max(0.0, waits))} of their time, waves wait for memory"
    doubt = "the counter does not tell what waves wait for"
    yield Evidence(
        name="memory_wait_at_most",
        value=max(0.0, waits),
        unit="",
        says=says,
        source="wave counters",
        doubt=doubt,
    )
