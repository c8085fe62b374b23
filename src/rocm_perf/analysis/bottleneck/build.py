"""Bottlenecks of a recording: measurements gathered by kernel, scored, and labelled where two sources support it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from rocm_perf.analysis.basis.counters_refused import no_counters_for
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.bottleneck.advice import application, would_tell_more
from rocm_perf.analysis.bottleneck.grid_bytes import exceeds, grid_byte_evidence
from rocm_perf.analysis.bottleneck.launch import launch_evidence
from rocm_perf.analysis.bottleneck.measurements import (
    METRICS,
    counted_metrics,
    of_counters,
    of_intensity,
    of_misses,
    of_profiler,
    of_roofline,
    of_samples,
    of_thread_trace,
    of_waits,
)
from rocm_perf.analysis.bottleneck.nature import streams
from rocm_perf.analysis.bottleneck.rivals import rivals
from rocm_perf.analysis.bottleneck.scores import label_scores
from rocm_perf.analysis.bottleneck.scratch import scratch_evidence
from rocm_perf.analysis.bottleneck.suspects import defect, suspect
from rocm_perf.analysis.bottleneck.tables import table_evidence
from rocm_perf.analysis.kernels.instructions import thread_trace
from rocm_perf.analysis.kernels.pc_samples import pc_samples
from rocm_perf.analysis.limits.build import kernel_limits, limits_of_traces, limits_together
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.build import Machines, roofline
from rocm_perf.analysis.roofline.counted import metric_tables
from rocm_perf.analysis.roofline.devices import Device, devices
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.results.bottleneck import Bottleneck, Bottlenecks, Evidence, Label, LabelScore
from rocm_perf.model.results.instructions import KernelInstructions, KernelSamples
from rocm_perf.model.results.limits import KernelLimits
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.model.trace import Trace

NOTHING = "the recording holds no kernels"
THIN = "too little evidence: only the launch itself is backed by two independent measurements"
UNDECIDED = "no measurement points to one cause: all scores are below {least:g}"
COLLECTIVE = "a collective lasts until its slowest rank has come: compare the ranks"
LEAST = 0.3  # a lower score points nowhere
_MOST_UNITS = 4  # of those that a set of counters tells on every chip: vector, LDS, L2 and memory
HALF = 0.5  # a lower score leaves room for a plainer cause


def bottlenecks(trace: Trace, *, gpu: Gpu | None = None, machines: Machines = ()) -> Bottlenecks:
    """Every kernel, from all that was recorded of it."""
    known = devices(trace, gpu)
    points = roofline(trace, gpu=gpu, machines=machines)
    counted = counted_metrics(metric_tables(trace, known, METRICS), known)
    launched = _of_launches(trace, known)
    tabled = table_evidence(trace)
    traced = {row.kernel: row for row in thread_trace(trace).kernels if row.kernel is not None}
    sampled = {row.kernel: row for row in pc_samples(trace).kernels if row.kernel is not None}
    limits = kernel_limits(trace, known, points)
    advise = partial(would_tell_more, app=application(trace.run), counters=not no_counters_for(trace))
    rows = []
    for point in points.kernels:
        nature = streams(point.kernel)
        measured = measured_of(
            (
                [nature] if nature else [],
                of_roofline(point),
                of_intensity(point),
                of_profiler(point),
                _unless_counted(launched.get((point.gpu, point.kernel), ()), point, known[point.gpu]),
                tabled.get(point.kernel, ()),
                of_counters(counted.get((point.gpu, point.kernel), {})),
                *_instruments(point.kernel, traced, sampled),
            )
        )
        limit = limits[point.gpu, point.kernel]
        more = advise(measured, known[point.gpu], counted=_is_counted(limit))
        rows.append(bottleneck(point.kernel, measured, point, more, limit))
    listed = {point.kernel for point in points.kernels}
    others = {name: None for name in (*traced, *sampled) if name not in listed}
    seen = limits_of_traces(trace) if others else {}
    for name in others:
        measured = measured_of(_instruments(name, traced, sampled))
        rows.append(bottleneck(name, measured, None, advise(measured, known[0]), seen.get(name)))
    together = limits_together(trace, known, points)
    return Bottlenecks(tuple(rows), rivals(trace), together, unavailable=None if rows else NOTHING)


def _is_counted(limits: KernelLimits) -> bool:
    """Return whether counters say how busy most units were."""
    return sum(unit.source == "counters" for unit in limits.units) >= _MOST_UNITS


def _of_launches(trace: Trace, known: tuple[Device, ...]) -> dict[Key, list[Evidence]]:
    """What the dispatches themselves tell of each kernel: grid, times, registers, scratch."""
    if not trace.has("dispatches"):
        return {}
    by_kernel = launch_evidence(trace, known)
    for more in (scratch_evidence(trace, known), grid_byte_evidence(trace, known)):
        for key, evidence in more.items():
            by_kernel.setdefault(key, []).append(evidence)
    return by_kernel


def _unless_counted(evidence: Iterable[Evidence], point: KernelRoofline, device: Device) -> list[Evidence]:
    """What the launches tell; bytes that the grid implies are worth nothing where the real ones are known, or where
    those that were counted are as many."""
    whole = point.bytes.known and point.bytes.doubt is None
    rate = float(point.tbytes.value or 0)
    return [
        one
        for one in evidence
        if one.name != "grid_bytes" or not (whole or (rate and not exceeds(one, rate, device)))
    ]


def _instruments(
    kernel: str, traced: Mapping[str, KernelInstructions], sampled: Mapping[str, KernelSamples]
) -> list[Iterable[Evidence]]:
    return [
        *([of_thread_trace(traced[kernel])] if kernel in traced else []),
        *([of_samples(sampled[kernel])] if kernel in sampled else []),
    ]


def measured_of(sources: Iterable[Iterable[Evidence]]) -> dict[str, Evidence]:
    """Measurements by name; a later source measures more directly and replaces an earlier one."""
    measured = {evidence.name: evidence for source in sources for evidence in source}
    measured.update({each.name: each for each in (*of_waits(measured), *of_misses(measured))})
    return measured


def bottleneck(
    kernel: str,
    measured: dict[str, Evidence],
    point: KernelRoofline | None,
    more: tuple[str, ...] = (),
    limits: KernelLimits | None = None,
) -> Bottleneck:
    """What holds one kernel back, from all that was measured of it. `more`: commands that would measure more."""
    scores = label_scores(measured)
    sure = [score for score in scores if score.enough]
    collective = family(kernel).name == "collective"
    first = sure[0] if sure and _value(sure[0]) >= LEAST and not collective else None
    second = sure[1] if first and len(sure) > 1 else None
    likely = None if collective else _likely(measured, first)
    return Bottleneck(
        kernel=kernel,
        short_name=short_name(kernel),
        gpu=point.gpu if point else None,
        total_ns=point.total_ns if point else 0,
        label=first.label if first else None,
        score=_value(first) if first else None,
        margin=_value(first) - _value(second) if first and second else None,
        second=second.label if second else None,
        reason=_reason(first, sure, collective),
        scores=scores,
        evidence=tuple(measured.values()),
        would_tell_more=more,
        suspect=likely[0] if likely else None,
        because=likely[1] if likely else None,
        limits=limits or KernelLimits(),
    )


def _likely(measured: dict[str, Evidence], proven: LabelScore | None) -> tuple[Label, str] | None:
    """What one kind of evidence points to where nothing is proven, or where what is proven explains less than half."""
    if proven is None:
        return suspect(measured)
    plain = defect(measured) if _value(proven) < HALF else None
    return plain if plain and plain[0] != proven.label else None


def _value(score: LabelScore) -> float:
    return float(score.score.value or 0)


def _reason(first: LabelScore | None, sure: list[LabelScore], collective: bool) -> str:
    if collective:
        return f"unknown: {COLLECTIVE}"
    if first is None:
        beyond_launch = any(score.label != "launch/latency" for score in sure)
        return f"unknown: {UNDECIDED.format(least=LEAST) if beyond_launch else THIN}"
    return ", ".join(f"{name} {value:.2f}" for name, value in first.score.inputs.items())
