"""What each tool answers: rows of the one document that `rocm-perf analyze` makes of a recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from rocm_perf import api
from rocm_perf.ingest.listing import glance, runs_at
from rocm_perf.mcp_server.bounded import Page, facts_alone, page_of
from rocm_perf.mcp_server.roots import allowed_path, is_allowed, shown_path
from rocm_perf.model.document import Document
from rocm_perf.render.sections.headline import headline

_KEPT = 8  # documents, of the recordings that were asked about last
_MOST_FILES = 10_000  # of a folder, that are looked at to see whether it has changed
_MOST_QUERIED = 10_000  # rows

State = tuple[tuple[str, int, int], ...]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    tool: str
    recording: str = ""
    other: str = ""  # the recording to compare with
    sql: str = ""
    page: Page = Page()


def answer(question: Question, roots: Sequence[Path], timeout_s: float) -> dict[str, Any]:
    """The answer to a question; raises a RocmPerfError where there is none."""
    if question.tool == "recordings":
        return _recordings(question, roots)
    path = allowed_path(question.recording, roots)
    if question.tool == "compare":
        return _comparison(question, path, allowed_path(question.other, roots))
    if question.tool == "query":
        return _rows_of(question, path, timeout_s)
    return _DOCUMENTED[question.tool](_document(path), question.page)


def _recordings(question: Question, roots: Sequence[Path]) -> dict[str, Any]:
    def may_open(path: Path) -> bool:
        return is_allowed(path, roots)

    runs = [run for root in roots for run in runs_at(root, may_open, glance)]
    rows = [
        {
            "recording": shown_path(_place(run.paths).resolve(), roots),
            "tool": run.tool,
            "error": None if run.error is None else str(run.error),
            "under_way": run.under_way,
        }
        for run in runs
    ]
    return page_of(rows, question.page, {})


def _place(paths: Sequence[Path]) -> Path:
    """Where a run lies: its file, or the folder of its files."""
    return paths[0] if len(paths) == 1 else paths[0].parent


def _document(path: Path) -> Document:
    return _analysed(path, _state(path))


@lru_cache(_KEPT)
def _analysed(path: Path, _state: State) -> Document:
    return api.analyze(path)


def _state(path: Path) -> State:
    """What changes when the recording does."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    states = ((file, file.stat()) for file in files[:_MOST_FILES])
    return tuple((str(file), state.st_mtime_ns, state.st_size) for file, state in states)


def _summary(document: Document, _: Page) -> dict[str, Any]:
    return facts_alone(
        {
            "tool": document.run.tool,
            "command": document.run.command,
            "headline": list(headline(document)),
            "wall_ns": document.wall_ns,
            "gpus": document.devices[:8],
            "steps": document.judged_steps,
            "step_ns": document.phases.step_ns.value,
            "findings": [finding.title for finding in document.findings],
            "kernels": document.hotspots.kernels,
            "dispatches": document.hotspots.dispatches,
            "kernel_ns": document.hotspots.total_ns,
            "recorded": document.tables,
            "doubts": [finding.title for finding in (*document.sanity, *document.coverage.holes)],
            "notices": document.run.notices,
        }
    )


def _findings(document: Document, page: Page) -> dict[str, Any]:
    return page_of(document.findings, page, {"wall_ns": document.wall_ns})


def _kernels(document: Document, page: Page) -> dict[str, Any]:
    hotspots = document.hotspots
    rows = [msgspec.structs.replace(row, durations=None) for row in hotspots.rows]
    return page_of(rows, page, {"total_ns": hotspots.total_ns, **_why(hotspots.unavailable)})


def _gaps(document: Document, page: Page) -> dict[str, Any]:
    gaps = document.gaps
    facts = {
        "idle_ns": gaps.idle_ns,
        "gaps": gaps.gaps,
        "causes": gaps.causes,
        "calls": gaps.calls[:20],
        "doubt": gaps.doubt,
        "not_attributed": gaps.not_attributed,
        **_why(gaps.unavailable),
    }
    return page_of(gaps.worst, page, facts)


def _path(document: Document, page: Page) -> dict[str, Any]:
    path = document.path
    facts = {
        "total_ns": path.total_ns,
        "wall_ns": path.wall_ns,
        "by_kind": path.by_kind,
        "missing": path.missing,
    }
    return page_of(path.by_kernel, page, facts)


def _roofline(document: Document, page: Page) -> dict[str, Any]:
    roofline = document.roofline
    return page_of(roofline.kernels, page, {"gpus": roofline.gpus, **_why(roofline.unavailable)})


def _comparison(question: Question, base: Path, new: Path) -> dict[str, Any]:
    comparison = api.compare(base, new)
    facts = {
        "setting": comparison.setting,
        "per": comparison.per,
        "basis": comparison.basis,
        "wall": comparison.wall,
        "wall_doubt": comparison.wall_doubt,
        "findings": comparison.findings,
        "notes": comparison.notes,
    }
    return page_of(comparison.kernels, question.page, facts)


def _rows_of(question: Question, path: Path, timeout_s: float) -> dict[str, Any]:
    rows = api.query(path, question.sql, timeout_s=timeout_s, most_rows=_MOST_QUERIED)
    return page_of(rows.rows(), question.page, {"columns": rows.columns})


def _why(unavailable: str | None) -> dict[str, str]:
    return {"unavailable": unavailable} if unavailable else {}


_DOCUMENTED: Mapping[str, Callable[[Document, Page], dict[str, Any]]] = {
    "summary": _summary,
    "findings": _findings,
    "kernels": _kernels,
    "gaps": _gaps,
    "path": _path,
    "roofline": _roofline,
}
