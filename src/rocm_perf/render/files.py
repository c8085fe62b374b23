"""The files that `analyze -o DIR` writes: profile.json (machine, command, totals) and analysis.json (kernels,
coverage). With several runs, each gets a folder of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocm_perf.errors import InputError, UsageError
from rocm_perf.model.document import Document
from rocm_perf.render.json import encode
from rocm_perf.units import NS_PER_MS

PROFILE, ANALYSIS = "profile.json", "analysis.json"


def write_documents(documents: Sequence[Document], folder: Path, *, overwrite: bool = False) -> None:
    """Both files of every run."""
    for number, document in enumerate(documents):
        target = folder if len(documents) == 1 else folder / f"run-{number + 1}"
        _write(target / PROFILE, profile(document), overwrite)
        _write(target / ANALYSIS, analysis(document), overwrite)


def profile(document: Document) -> dict[str, object]:
    """Machine, command, sources and totals."""
    return {
        "schema_version": document.schema_version,
        "producer": document.producer,
        "label": document.label,
        "run": document.run,
        "agents": document.agents,
        "tables": document.tables,
        "wall_ns": document.wall_ns,
        "devices": document.devices,
        "queues": document.queues,
        "domains": document.domains,
        "copies": document.copies,
        "formulas": document.formulas,
    }


def analysis(document: Document) -> dict[str, object]:
    """Kernels and coverage."""
    return {
        "schema_version": document.schema_version,
        "producer": document.producer,
        "label": document.label,
        "kernels": [
            {
                "kernel": spot.kernel,
                "short_name": spot.short_name,
                "time_ms": spot.total_ns / NS_PER_MS,
                "calls": spot.calls,
                "total_ns": spot.total_ns,
                "mean_ns": spot.mean_ns,
                "median_ns": spot.median_ns,
                "min_ns": spot.min_ns,
                "max_ns": spot.max_ns,
                "share": spot.share,
            }
            for spot in document.hotspots.rows
        ],
        "kernels_basis": document.hotspots.basis,
        "kernels_unavailable": document.hotspots.unavailable,
        "sync": document.sync,
        "findings": document.findings,
        "coverage": document.coverage,
        "excerpts": document.excerpts,
        "formulas": document.formulas,
    }


def _write(path: Path, content: dict[str, object], overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise UsageError(
            f"{path} exists already", next_step="Choose another folder, or add --force to replace it."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.partial")
        draft.write_text(encode(content) + "\n")
        draft.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}", error.strerror or str(error)) from error
