"""What `optimize` tried, and what came of it: the same sections in a terminal and on a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from rocm_perf.model.results.optimize import Attempt, Conclusion, Optimization, Speedup
from rocm_perf.model.vendor import is_amd
from rocm_perf.render.sections.section import Columns, Section, count, grids, number, size, text
from rocm_perf.units import format_count, format_ns, format_share

_HEADLINES: dict[Conclusion, str] = {
    "improved": "Improved",
    "nothing helps": "Nothing helps",
    "not worth it": "Not worth it",
    "static only": "Not measured",
    "stopped": "Stopped",
}

_NEEDS = {
    "vgprs": "VGPRs",
    "agprs": "AGPRs",
    "sgprs": "SGPRs",
    "spills": "spills",
    "scratch_bytes": "scratch",
    "lds_bytes": "LDS",
    "waves": "waves",
    "instructions": "instructions",
    "code_bytes": "code",
}

_NVIDIA_NEEDS = {"vgprs": "registers", "scratch_bytes": "local memory", "lds_bytes": "shared memory"}


def headline(result: Optimization) -> str:
    """The answer in one line."""
    gain = f": {factor(result.gain)} in replay" if result.gain and result.conclusion == "improved" else ""
    return f"{_HEADLINES[result.conclusion]}{gain}. {result.reason}"


def basis_facts(result: Optimization) -> Iterator[tuple[str, str]]:
    """What was optimised, and what it is worth."""
    yield "Kernel", f"{result.kernel}, of {result.source}"
    yield "For", f"{result.arch}, by {result.compiler}"
    if result.gain:
        yield "Baseline", f"{format_ns(result.gain.base_ns)} a launch"
    if result.share is not None:
        yield "Share", f"{format_share(result.share)} of the critical path"
    if result.best_case is not None:
        yield "Best case", f"the program {result.best_case:.2f} times as fast, {result.best_case_basis}"
    yield "Held back", result.cause
    for label, speedup in (
        ("Confirmed", result.gain),
        ("Kernels", result.kernels_gain),
        ("Program", result.program_gain),
    ):
        if speedup:
            yield label, f"{improvement(speedup)}; {speedup.how}"
    for note in result.notes:
        yield "Note", note


def optimization_sections(result: Optimization) -> tuple[Section, ...]:
    """The attempts, why they were not accepted, what their code needs, and what was not even proposed."""
    return tuple(
        section
        for section in (
            _attempts(result.attempts),
            _order(result.attempts),
            _reasons(result.attempts),
            _resources(result.attempts, result.arch),
            _unproposed(result.attempts),
        )
        if section.grids or section.lines or section.unavailable
    )


def factor(speedup: Speedup | None) -> str:
    """1.124x [1.118, 1.130], or a dash."""
    if speedup is None:
        return "-"
    low_and_high = f" [{speedup.interval[0]:.3f}, {speedup.interval[1]:.3f}]" if speedup.interval else ""
    return f"{speedup.value:.3f}x{low_and_high}"


def improvement(speedup: Speedup) -> str:
    """From and to, and the improvement in percent of the time."""
    saved = 1 - 1 / speedup.value
    change = f"{format_share(abs(saved))} {'less' if saved >= 0 else 'more'} time"
    return f"{format_ns(speedup.base_ns)} -> {format_ns(speedup.new_ns)}, {factor(speedup)}, {change}"


def _attempts(attempts: Sequence[Attempt]) -> Section:
    has_rounds = any(
        row.round for row in attempts
    )  # later ones name lines of the text that was accepted before
    columns: Columns[Attempt] = (
        number("#", lambda row: str(row.number)),
        *((number("round", lambda row: str(row.round + 1)),) if has_rounds else ()),
        text("change", lambda row: row.name),
        text("verdict", lambda row: row.verdict),
        number("in replay", lambda row: factor(row.replay)),
    )
    tried = [row for row in attempts if row.verdict != "not proposed"]
    verdicts = Counter(row.verdict for row in tried)
    summary = ", ".join(f"{verdicts[name]} {name}" for name in verdicts)
    lines = (f"{format_count(len(tried), 'candidate')}: {summary}",) if tried else ()
    return Section("Attempts", lines=lines, grids=grids("", tried, columns))


def _resources(attempts: Sequence[Attempt], arch: str) -> Section:
    """What the code of each candidate needs, where that differs from what it changes."""
    rows = [row for row in attempts if row.after and row.before and row.after != row.before]
    differing = [name for name in _NEEDS if any(_needs(row, name)[0] != _needs(row, name)[1] for row in rows)]
    names = _NEEDS if is_amd(arch) else {**_NEEDS, **_NVIDIA_NEEDS}
    columns: Columns[Attempt] = (
        number("#", lambda row: str(row.number)),
        *(number(names[name], partial(_moved, name=name)) for name in differing),
    )
    return Section("What the code needs", grids=grids("", rows, columns))


def _needs(row: Attempt, name: str) -> tuple[float | None, float | None]:
    """One of the resources before and after."""
    return getattr(row.before, name), getattr(row.after, name)


def _moved(row: Attempt, name: str) -> str:
    before, after = _needs(row, name)
    written = size if name.endswith("bytes") else count
    return written(after) if before == after else f"{written(before)} -> {written(after)}"


def _reasons(attempts: Sequence[Attempt]) -> Section:
    """Why those that were not accepted were not."""
    without = ("accepted", "not proposed", "not measured")
    told = [row for row in attempts if row.verdict not in without and not _is_told_by_its_time(row)]
    lines = tuple(f"{row.number}: {row.reason}" for row in told)
    return Section("Why not", lines=lines)


def _is_told_by_its_time(row: Attempt) -> bool:
    return row.verdict == "no gain" and row.replay is not None


def _order(attempts: Sequence[Attempt]) -> Section:
    """Why those that were not measured stand in their order."""
    lines = tuple(f"{row.number}: {row.reason}" for row in attempts if row.verdict == "not measured")
    return Section("Why in this order", lines=lines)


def _unproposed(attempts: Sequence[Attempt]) -> Section:
    """What could have been tried on the source as it is, and why it must not be."""
    refused = [row for row in attempts if row.verdict == "not proposed" and not row.round]
    return Section("Not proposed", lines=tuple(f"{row.name}: {row.reason}" for row in refused))
