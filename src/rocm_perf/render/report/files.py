"""The files that `analyze -o DIR` writes: profile.json, roofline.json, dag.json, analysis.json. With several runs, each
gets a folder of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocm_perf.files import write_whole
from rocm_perf.model.document import Document
from rocm_perf.model.results.bottleneck import Bottleneck
from rocm_perf.model.results.path import KernelOnPath
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.model.results.times import Hotspot
from rocm_perf.render.json import encode
from rocm_perf.render.report.file_types import (
    RESULTS,
    AnalysisFile,
    DagFile,
    DagKernel,
    File,
    KernelAnalysis,
    ProfileFile,
    RooflineFile,
)
from rocm_perf.units import NS_PER_MS

_NO_WORK = "the roofline has no kernel of that name"
_NOT_ON_THE_GRAPH = "the kernel has no times, or kernels were grouped by their short names"


def write_documents(documents: Sequence[Document], folder: Path, *, overwrite: bool = False) -> None:
    """All files of every run."""
    for number, document in enumerate(documents):
        target = folder if len(documents) == 1 else folder / f"run-{number + 1}"
        for name, content in files(document).items():
            _write(target / f"{name}.json", content, overwrite)


def files(document: Document) -> dict[str, File]:
    """The four files of one run, by name."""
    return {
        "profile": profile(document),
        "roofline": roofline(document),
        "dag": dag(document),
        "analysis": analysis(document),
    }


def profile(document: Document) -> ProfileFile:
    """Machine, command, sources and totals."""
    return ProfileFile(
        schema_version=document.schema_version,
        producer=document.producer,
        label=document.label,
        run=document.run,
        agents=document.agents,
        tables=document.tables,
        overhead=document.overhead,
        wall_ns=document.wall_ns,
        devices=document.devices,
        queues=document.queues,
        domains=document.domains,
        copies=document.copies,
        formulas=document.formulas,
    )


def roofline(document: Document) -> RooflineFile:
    """Peaks, and kernels under them."""
    return RooflineFile(
        schema_version=document.schema_version,
        producer=document.producer,
        label=document.label,
        gpus=document.roofline.gpus,
        kernels=document.roofline.kernels,
        unavailable=document.roofline.unavailable,
    )


def dag(document: Document) -> DagFile:
    """The dependency graph in numbers."""
    path = document.path
    return DagFile(
        schema_version=document.schema_version,
        producer=document.producer,
        label=document.label,
        critical_path_ns=path.total_ns,
        wall_ns=path.wall_ns,
        links=path.links,
        by_kind=path.by_kind,
        kernels=tuple(_on_path(row, path.wall_ns) for row in path.by_kernel),
        nodes=path.nodes,
        edges=path.edges,
        longest=path.longest,
        pattern=path.pattern,
        estimates=path.estimates,
        missing=path.missing,
    )


def _on_path(row: KernelOnPath, wall_ns: int) -> DagKernel:
    return DagKernel(
        kernel=row.kernel,
        dispatches=row.dispatches,
        path_ns=row.path_ns,
        critical_path_score=row.critical_path_score,
        slack_ns=row.slack_min_ns,
        slack_median_ns=row.slack_median_ns,
        impact=row.impact_ns / wall_ns if wall_ns else None,
        impact_ns=row.impact_ns,
        impact_basis=row.impact_basis,
    )


def analysis(document: Document) -> File:
    """Kernels, findings, coverage, scorecard, and the rest."""
    return AnalysisFile(  # type: ignore[call-arg]
        schema_version=document.schema_version,
        producer=document.producer,
        label=document.label,
        kernels=_kernels(document),
        kernels_basis=document.hotspots.basis,
        kernels_unavailable=document.hotspots.unavailable,
        bottlenecks=document.bottlenecks.kernels,
        bottlenecks_unavailable=document.bottlenecks.unavailable,
        formulas=document.formulas,
        **{field.name: getattr(document, field.name) for field in RESULTS},
    )


def _kernels(document: Document) -> tuple[KernelAnalysis, ...]:
    scores = {row.kernel: row.critical_path_score for row in document.path.by_kernel}
    points = {row.kernel: row for row in reversed(document.roofline.kernels)}  # on several GPUs: the longest
    labels = {row.kernel: row for row in reversed(document.bottlenecks.kernels)}
    return tuple(
        _kernel(spot, scores.get(spot.kernel), points.get(spot.kernel), labels.get(spot.kernel))
        for spot in document.hotspots.rows
    )


def _kernel(
    spot: Hotspot, score: float | None, point: KernelRoofline | None, bottleneck: Bottleneck | None
) -> KernelAnalysis:
    intensity = point.operational_intensity if point else None
    percent = point.percent_of_roof if point else None
    position = point.position if point else None
    label = bottleneck.label if bottleneck else None
    reasons = {
        "operational_intensity": _NO_WORK if intensity is None else intensity.unavailable,
        "percent_of_roof": _NO_WORK if percent is None else percent.unavailable,
        "roofline_position": None if position else (point.reason if point else _NO_WORK),
        "critical_path_score": _NOT_ON_THE_GRAPH if score is None else None,
        "bottleneck": None if label else (bottleneck.reason if bottleneck else _NO_WORK),
    }
    provenance = {
        "operational_intensity": intensity.formula if intensity and intensity.known else None,
        "percent_of_roof": percent.formula if percent and percent.known else None,
        "roofline_position": point.basis if point and position else None,
        "critical_path_score": None
        if score is None
        else "time of the kernel on the critical path / its length",
        "bottleneck": bottleneck.reason if bottleneck and label else None,
    }
    return KernelAnalysis(
        kernel=spot.kernel,
        short_name=spot.short_name,
        time_ms=spot.total_ns / NS_PER_MS,
        calls=spot.calls,
        operational_intensity=intensity.value if intensity else None,
        roofline_position=position,
        percent_of_roof=percent.value if percent else None,
        critical_path_score=score,
        bottleneck=label,
        total_ns=spot.total_ns,
        mean_ns=spot.mean_ns,
        median_ns=spot.median_ns,
        min_ns=spot.min_ns,
        max_ns=spot.max_ns,
        share=spot.share,
        unknown=_without_blanks(reasons),
        provenance=_without_blanks(provenance),
    )


def _without_blanks(texts: dict[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


def _write(path: Path, content: File, overwrite: bool) -> None:
    text = encode(content) + "\n"
    write_whole(path, lambda draft: draft.write_text(text, encoding="utf-8"), overwrite=overwrite)
